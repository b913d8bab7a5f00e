// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Net

extension ResolvConf {
    /// Reads resolv.conf(5), and finds out whether its first server is one of ours, or is
    /// systemd-resolved and asks one of ours.
    ///
    /// - Parameters:
    ///   - addresses: where the daemon listens.
    ///   - root: what stands before each path; nothing but in tests.
    init(pointingAt addresses: [SocketAddress], root: String = "") {
        self.init()
        guard let found = Self.servers(root + "/etc/resolv.conf") else { return }
        nameservers = found
        guard let first = found.first else { return }
        if Self.names(first, oneOf: addresses) {
            pointsHere = true
        } else if first == "127.0.0.53" || first == "127.0.0.54" {
            // The servers of resolved, global ones first; it leaves out those on other ports.
            let uplinks = Self.servers(root + "/run/systemd/resolve/resolv.conf") ?? []
            let dropIn = root + "/etc/systemd/resolved.conf.d/httpdnsd.conf"
            let setting = Self.lines(dropIn).last { $0.hasPrefix("DNS=") }
            let asked =
                uplinks.first
                ?? setting.map { $0.dropFirst(4).prefix { $0 != " " } }
                .map(String.init)
            pointsHere = asked.map { Self.names($0, oneOf: addresses) } ?? false
            if pointsHere == true { by = "systemd-resolved" }
        } else if SocketAddress(first, defaultPort: 53) != nil {
            pointsHere = false
        }
    }

    /// The servers of a file in the form of resolv.conf(5); nil if it cannot be read.
    private static func servers(_ path: String) -> [String]? {
        guard (try? RegularFile(path).read(atMost: maximumOctets)) != nil else { return nil }
        return lines(path).compactMap { line in
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            return words.count >= 2 && words[0] == "nameserver" ? String(words[1]) : nil
        }
    }

    /// The most octets that are read of a file.
    private static let maximumOctets = 64 << 10

    /// The lines of a file; none if it cannot be read.
    private static func lines(_ path: String) -> [Substring] {
        let octets = (try? RegularFile(path).read(atMost: maximumOctets)) ?? []
        return String(decoding: octets, as: UTF8.self).split(separator: "\n")
    }

    /// Whether a server's text names an address that the daemon listens on.
    private static func names(_ text: String, oneOf addresses: [SocketAddress]) -> Bool {
        guard let server = SocketAddress(text, defaultPort: 53) else { return false }
        return addresses.contains { address in
            address.port == server.port
                && (address.octets == server.octets || address.octets.allSatisfy { $0 == 0 })
        }
    }
}
