// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// Parser of `/proc/net/udp`, `tcp`, `udp6` and `tcp6`.
enum PortTable {
    struct Entry: Equatable, Sendable {
        var server: ServerAddress
        var user: UInt32
        var inode: UInt64
    }

    /// Kernel states of listening sockets: `TCP_CLOSE` (07) for UDP, `TCP_LISTEN` (0A) for TCP.
    private static let states: [Probe.Transport: Substring] = [.udp: "07", .tcp: "0A"]

    static func entries(_ text: String, _ transport: Probe.Transport) -> [Entry] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 9, words[3] == states[transport], let server = server(words[1]),
                let user = UInt32(words[7]), let inode = UInt64(words[9])
            else { return nil }
            return Entry(server: server, user: user, inode: inode)
        }
    }

    private static func server(_ text: Substring) -> ServerAddress? {
        let parts = text.split(separator: ":")
        guard parts.count == 2, let port = UInt16(parts[1], radix: 16),
            parts[0].count == 8 || parts[0].count == 32
        else { return nil }
        var octets: [UInt8] = []
        var rest = parts[0]
        while !rest.isEmpty {
            guard let word = UInt32(rest.prefix(8), radix: 16) else { return nil }
            for shift in [24, 16, 8, 0] as [UInt32] {
                octets.append(UInt8(truncatingIfNeeded: word >> shift))
            }
            rest = rest.dropFirst(8)
        }
        // The kernel prints each 32-bit word in host byte order.
        for start in stride(from: 0, to: octets.count, by: 4) where isLittleEndian {
            octets[start..<start + 4].reverse()
        }
        return IPAddress(octets: octets).map { ServerAddress($0, port: port) }
    }

    private static let isLittleEndian = UInt32(1).littleEndian == 1
}
