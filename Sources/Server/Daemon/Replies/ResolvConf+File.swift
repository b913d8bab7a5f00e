// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Net

extension ResolvConf {
    /// What resolv.conf(5) says, and whether its first server is one of ours.
    init(pointingAt addresses: [SocketAddress]) {
        self.init()
        guard let octets = try? RegularFile("/etc/resolv.conf").read(atMost: 64 << 10) else {
            return
        }
        for line in String(decoding: octets, as: UTF8.self).split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            if words.count >= 2, words[0] == "nameserver" { nameservers.append(String(words[1])) }
        }
        guard let first = nameservers.first.flatMap({ SocketAddress($0, defaultPort: 53) }) else {
            return
        }
        pointsHere = addresses.contains { address in
            address.port == first.port
                && (address.octets == first.octets || address.octets.allSatisfy { $0 == 0 })
        }
    }
}
