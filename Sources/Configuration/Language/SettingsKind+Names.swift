// SPDX-License-Identifier: Apache-2.0
internal import Control
package import DNSWire
internal import Net

extension SettingsKind where Value == SocketAddress {
    static func address(defaultPort: UInt16) -> SettingsKind {
        .address(defaultPort) { text throws(Mismatch) in
            try .literal(text, defaultPort: defaultPort)
        }
    }

    static func listener(defaultPort: UInt16) -> SettingsKind {
        .address(defaultPort) { text throws(Mismatch) in
            try .listener(text, defaultPort: defaultPort)
        }
    }

    private static func address(
        _ defaultPort: UInt16,
        _ read: @escaping @Sendable (String) throws(Mismatch) -> SocketAddress
    ) -> SettingsKind {
        .scalar(
            "IP:PORT or [IPv6]:PORT (port \(defaultPort) if left out)",
            schema: SettingsSchema.address,
            read: read
        )
    }

    /// Port 0 means the default port of the protocol.
    static var server: SettingsKind {
        .scalar(
            "an IP address, or IP:PORT",
            schema: SettingsSchema.address,
            read: { text throws(Mismatch) in
                let address = try SocketAddress.literal(text, defaultPort: 0)
                try address.checkServer()
                return address
            },
            write: { .text($0.port == 0 ? $0.host : $0.description) }
        )
    }
}

extension SettingsKind where Value == IPAddress {
    static var ip: SettingsKind {
        .scalar(
            "an IP address",
            schema: SettingsSchema.string(#"^[0-9A-Fa-f]*[.:][0-9A-Fa-f.:]*$"#),
            read: { text throws(Mismatch) in
                guard let address = IPAddress(text) else { throw Mismatch() }
                return address
            }
        )
    }
}

extension IPAddress {
    fileprivate static let broadcast = Self.v4(IPv4Address(value: .max))
}

extension SocketAddress {
    package var ip: IPAddress {
        guard let ip = IPAddress(octets: octets) else {
            preconditionFailure("an address has 4 or 16 octets")
        }
        return ip
    }

    func checkServer() throws(Mismatch) {
        guard !ip.isUnspecified else { throw Mismatch() }
        guard !ip.isMulticast, ip != .broadcast else {
            throw Mismatch(message: "`\(ip)` is a multicast or broadcast address")
        }
        try checkInterface()
    }

    private func checkInterface() throws(Mismatch) {
        guard case .v6(let ip) = ip, ip.isLinkLocal, scope == 0 else { return }
        throw Mismatch(
            message: "`\(self)` is a link-local address without an interface",
            hint: "add the interface, such as `[\(ip)%eth0]:\(port)`"
        )
    }

    static func listener(_ text: String, defaultPort: UInt16) throws(Mismatch) -> SocketAddress {
        let address = try literal(text, defaultPort: defaultPort)
        if case .v6(let ip) = address.ip {
            if let mapped = ip.mapped {
                throw Mismatch(
                    message: "`\(address)` contains an IPv4 address",
                    hint: "did you mean `\(mapped):\(address.port)`?"
                )
            }
        }
        try address.checkInterface()
        guard !address.ip.isMulticast, address.ip != .broadcast else {
            throw Mismatch(message: "`\(address.ip)` is a multicast or broadcast address")
        }
        return address
    }

    /// An address such as `::1:53` is an error: in ::/96, only `::` and `::1` are in use, so the
    /// last group is probably a port.
    static func literal(_ text: String, defaultPort: UInt16) throws(Mismatch) -> SocketAddress {
        let meant = bracketed(text)
        if let address = SocketAddress(text, defaultPort: defaultPort) {
            guard let meant, address.octets.prefix(12).allSatisfy({ $0 == 0 }) else {
                return address
            }
            throw Mismatch(
                message: "`\(text)` is an IPv6 address without a port",
                hint: "did you mean `\(meant)`?"
            )
        }
        if let meant { throw Mismatch(hint: "did you mean `\(meant)`?") }
        try checkPort(of: text)
        let isName =
            text.unicodeScalars.contains { $0.properties.isAlphabetic }
            && text.count { $0 == ":" } <= 1
        throw Mismatch(
            hint: isName
                ? "write its IP address: httpdnsd does not resolve names in its settings"
                : nil
        )
    }
}

extension SocketAddress {
    /// Adds the missing brackets of an IPv6 address before a port: `[::1]:53` for `::1:53`.
    ///
    /// Returns nil for all other texts.
    static func bracketed(_ text: String) -> String? {
        guard !text.contains("["), let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]), port > 0
        else { return nil }
        // In `::53`, the colon before the port also belongs to the address `::`.
        let host = text == "::\(port)" ? "::" : String(text[..<colon])
        let isAddress = SocketAddress(host, defaultPort: 0)?.isIPv6 ?? false
        return isAddress && text != "::1" ? "[\(host)]:\(port)" : nil
    }

    private static func checkPort(of text: String) throws(Mismatch) {
        guard let colon = text.lastIndex(of: ":") else { return }
        let port = text[text.index(after: colon)...]
        let isNumber = !port.isEmpty && port.utf8.allSatisfy(\.isDigit)
        guard isNumber, SocketAddress("\(text[..<colon]):1") != nil else { return }
        throw .port(of: text)
    }
}

extension Mismatch {
    static func port(of text: String) -> Mismatch {
        Mismatch(message: "the port of `\(text.withoutSecrets.shortened)` must be from 1 to 65535")
    }
}

extension SettingsKind where Value == IPPrefix {
    static var prefix: SettingsKind {
        .scalar(
            "an IP address or a network such as 192.0.2.0/24",
            schema: SettingsSchema.string(#"^[0-9A-Fa-f]*[.:][0-9A-Fa-f.:]*(/[0-9]{1,3})?$"#),
            read: { text throws(Mismatch) in
                if let prefix = IPPrefix(text) { return prefix }
                let parts = text.split(separator: "/", omittingEmptySubsequences: false)
                guard parts.count == 2, let address = IPAddress(parts[0]),
                    let length = Int(parts[1]),
                    let meant = IPPrefix(containing: address, length: length)
                else { throw Mismatch() }
                throw Mismatch(
                    message: "`\(text.shortened)` has host bits set",
                    hint: "did you mean `\(meant)`?"
                )
            }
        )
    }
}

extension SettingsKind where Value == DomainPattern {
    static var domain: SettingsKind {
        .scalar(
            "a domain (`example.com`, \"=exact.example.com\" or \"*.below.example.com\")",
            schema: SettingsSchema.string(
                #"^(\.|(=|\*\.)?([-0-9A-Z_a-z]|\\[!-~])([-./0-9A-Z_a-z]|\\[!-~])*)$"#
            ),
            read: { text throws(Mismatch) in try DomainPattern(reading: text) }
        )
    }
}

extension SettingsKind where Value == Name {
    static var domainName: SettingsKind {
        .scalar(
            "a name",
            schema: SettingsSchema.string(#"^([-0-9A-Z_a-z]|\\[!-~])([-./0-9A-Z_a-z]|\\[!-~])*$"#),
            read: { text throws(Mismatch) in
                guard case .suffix(let name) = try DomainPattern(reading: text), !name.isRoot else {
                    throw Mismatch()
                }
                return name
            },
            write: { .text($0.text) }
        )
    }
}

extension SettingsKind where Value == UpstreamURL {
    static var upstreamURL: SettingsKind {
        .scalar(
            "a URL: https://HOST/PATH, tls://HOST, udp://IP or tcp://IP",
            schema: SettingsSchema.string(
                #"^(https://[^/?#@ ]+/[^#<>"` ]+|tls://[^/?#@ ]+/?"#
                    + #"|(udp|tcp)://(\[[0-9A-Fa-f:.]+\#(SettingsSchema.interface)\]|[0-9.]+)"#
                    + "(:[0-9]{1,5})?)$"
            ),
            read: { text throws(Mismatch) in try UpstreamURL(reading: text) },
            write: { .text($0.text) }
        )
    }
}

extension SettingsKind where Value == Int? {
    static func workers(_ range: ClosedRange<Int>) -> SettingsKind {
        .scalar(
            "`auto` or a whole number from \(range.lowerBound) to \(range.upperBound)",
            schema: SettingsSchema.number(range, pattern: "^(auto|[0-9]+)$"),
            read: { text throws(Mismatch) in
                if text == "auto" { return nil }
                guard text.utf8.allSatisfy(\.isDigit), let count = Int(text), range.contains(count)
                else { throw Mismatch(hint: DidYouMean.hint(for: text, among: ["auto"])) }
                return count
            },
            write: { .text($0.map { "\($0)" } ?? "auto") }
        )
    }
}

extension SettingsKind where Value == String {
    /// Does not check that the name is defined.
    static func name(of what: String) -> SettingsKind {
        .scalar(
            what,
            schema: SettingsSchema.string(EntryName.pattern),
            read: { text throws(Mismatch) in
                guard EntryName.isValid(text) else {
                    throw Mismatch(
                        message: "`\(text.shortened)` is not a name",
                        hint: EntryName.rule
                    )
                }
                return text
            }
        )
    }

    static func path(maximumOctets: Int = SettingsLimits.pathOctets) -> SettingsKind {
        .scalar(
            "an absolute path of up to \(maximumOctets) octets",
            schema: SettingsSchema.string("^/", longest: maximumOctets),
            read: { text throws(Mismatch) in
                guard text.hasPrefix("/"), text.utf8.count <= maximumOctets else {
                    throw Mismatch()
                }
                guard !text.hasSuffix("/") else {
                    throw Mismatch(hint: "add the name of the file after the last `/`")
                }
                return text
            }
        )
    }

    static var hostName: SettingsKind {
        .scalar(
            "a host name",
            schema: SettingsSchema.string(#"^[A-Za-z0-9_][A-Za-z0-9_.-]*$"#),
            read: { text throws(Mismatch) in
                guard case .suffix(let name) = try DomainPattern(reading: text), name.isHostname,
                    IPAddress(text) == nil
                else { throw Mismatch() }
                return name.text
            }
        )
    }

    static var group: SettingsKind {
        .scalar(
            "the name of a group",
            schema: SettingsSchema.group,
            read: { text throws(Mismatch) in
                guard (1...32).contains(text.utf8.count),
                    !text.contains(where: { ": /".contains($0) })
                else { throw Mismatch() }
                return text
            }
        )
    }
}
