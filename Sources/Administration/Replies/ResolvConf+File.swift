// SPDX-License-Identifier: Apache-2.0
internal import Configuration
package import Control
internal import DNSWire
internal import Glibc
package import Net

extension ResolvConf {
    /// Checks if the first server in resolv.conf(5) is this daemon.
    ///
    /// The check also succeeds if this server is systemd-resolved, and forwards to this daemon.
    init(
        pointingAt addresses: [SocketAddress],
        root: String = "",
        isLocal: (SocketAddress) -> Bool = SettingsEnvironment.process.isLocal
    ) {
        self.init()
        // Only root can read the journal of `httpdnsctl setup`: any error but ENOENT means that the
        // journal exists.
        isSetUp =
            RegularFile.fault(of: root + "/var/lib/httpdnsd-setup/journal.json") != .system(ENOENT)
        guard let found = Self.servers(root + "/etc/resolv.conf") else { return }
        nameservers = found
        // Setup also writes its nameservers into a comment. If the `nameserver` lines differ from
        // this comment, another program, such as a VPN client, replaced the nameservers.
        let mark = "# Written by httpdnsctl setup for " + found.joined(separator: " ") + ";"
        isWrittenBySetup = Self.lines(root + "/etc/resolv.conf").contains { $0.hasPrefix(mark) }
        guard let first = found.first else { return }
        func isHere(_ server: String) -> Bool { Self.names(server, oneOf: addresses, isLocal) }
        if isHere(first) {
            pointsHere = true
        } else if first == "127.0.0.53" || first == "127.0.0.54" {
            // In this file, systemd-resolved lists its global servers first, but omits servers on
            // ports other than 53.
            let uplinks = Self.servers(root + "/run/systemd/resolve/resolv.conf") ?? []
            let dropIns = ["httpdnsd", "zz-httpdnsd"].map {
                root + "/etc/systemd/resolved.conf.d/\($0).conf"
            }
            let setting = dropIns.flatMap(Self.lines).last { $0.hasPrefix("DNS=") }
            let set = setting.map { String($0.dropFirst(4).prefix { $0 != " " }) }
            let hasOtherPort =
                set.flatMap { SocketAddress($0, defaultPort: 53)?.port != 53 } ?? false
            pointsHere = (hasOtherPort ? set : uplinks.first ?? set).map(isHere) ?? false
            if pointsHere == true { by = "systemd-resolved" }
        } else if SocketAddress(first, defaultPort: 53) != nil {
            pointsHere = false
        }
    }

    /// Returns a problem for `status` if programs get no answers from the daemon; otherwise nil.
    ///
    /// If no setup is in force, it is not a problem that resolv.conf does not point to the daemon.
    func problem(allow: [IPPrefix]) -> String? {
        guard let first = nameservers.first else { return nil }
        if pointsHere == true {
            guard by == nil, let server = SocketAddress(first, defaultPort: 53)?.ip,
                server.isLoopback,
                !allow.contains(where: { $0.contains(server.loopbackSource) })
            else { return nil }
            return
                "`allow` does not contain \(server.loopbackSource): programs on this machine get "
                + "REFUSED; add this address to `allow`"
        }
        guard isSetUp == true, pointsHere == false else { return nil }
        guard isWrittenBySetup == true else {
            return
                "/etc/resolv.conf changed after `httpdnsctl setup apply`, so that programs query "
                + nameservers.joined(separator: ", ")
                + "; check `httpdnsctl setup --dry-run`, then run `httpdnsctl setup apply --force`"
        }
        // If the address is not a loopback address, this is no problem: the operator may use the
        // daemon of another machine.
        guard SocketAddress(first, defaultPort: 53)?.ip.isLoopback == true else { return nil }
        return
            "/etc/resolv.conf, written by `httpdnsctl setup apply`, names \(first), but the daemon "
            + "does not serve port 53 of this address; correct `listen`, then run "
            + "`httpdnsctl reload`"
    }

    /// Returns a warning if no listener has the address that setup wrote to resolv.conf.
    package static func warning(
        listening addresses: [SocketAddress],
        root: String = ""
    ) -> String? {
        let found = ResolvConf(pointingAt: addresses, root: root)
        guard found.pointsHere == false, found.isWrittenBySetup == true else { return nil }
        return found.problem(allow: [])
    }

    private static func servers(_ path: String) -> [String]? {
        guard (try? RegularFile(path).read(atMost: maximumOctets)) != nil else { return nil }
        return lines(path).compactMap { line in
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            return words.count >= 2 && words[0] == "nameserver" ? String(words[1]) : nil
        }
    }

    private static let maximumOctets = 64 << 10

    private static func lines(_ path: String) -> [Substring] {
        let octets = (try? RegularFile(path).read(atMost: maximumOctets)) ?? []
        return String(decoding: octets, as: UTF8.self).split(separator: "\n")
    }

    private static func names(
        _ text: String,
        oneOf addresses: [SocketAddress],
        _ isLocal: (SocketAddress) -> Bool
    ) -> Bool {
        guard let server = SocketAddress(text, defaultPort: 53) else { return false }
        return addresses.contains { address in
            address.port == server.port
                && (address.octets == server.octets
                    || address.ip.isUnspecified && (server.ip.isLoopback || isLocal(server)))
        }
    }
}
