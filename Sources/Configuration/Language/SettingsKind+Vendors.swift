// SPDX-License-Identifier: Apache-2.0
import DNSWire
internal import HTTPDNS
import Net

extension SettingsKind where Value == String {
    /// Value type for an account number, or the public part of a key.
    static var account: SettingsKind {
        let longest = VendorLimits.maximumAccount
        return .scalar(
            "1 to \(longest) letters and digits",
            schema: SettingsSchema.number(0...(.max), pattern: "^[0-9A-Za-z]{1,\(longest)}$"),
            read: { text throws(Mismatch) in
                guard text.utf8.allSatisfy(\.isLetterOrDigit),
                    (1...longest).contains(text.utf8.count)
                else { throw Mismatch() }
                return text
            }
        )
    }

    static var certificateName: SettingsKind {
        .scalar(
            "a host name or an IP address",
            schema: SettingsSchema.string("^[A-Za-z0-9_.:-]+$"),
            read: { text throws(Mismatch) in
                if IPAddress(text) != nil { return text }
                guard let name = try? Name(text), name.isHostname else { throw Mismatch() }
                return name.text
            }
        )
    }
}

extension SettingsKind where Value == JSONSettings.Address {
    static var jsonURL: SettingsKind {
        .scalar(
            "a URL such as https://dns.example/resolve, without user or fragment",
            schema: SettingsSchema.string("^https?://[^/?#@ ]+[^# ]*$"),
            read: { text throws(Mismatch) in try JSONSettings.Address(reading: text) },
            write: { .text($0.text) }
        )
    }
}

// MARK: - Calls

extension SettingsKind where Value == HTTPVersion {
    static var httpVersion: SettingsKind {
        choice().rejecting { version, environment in
            version != .http3 || environment.hasHTTP3 ?? LibraryVersion.hasHTTP3
                ? nil : ("the installed libcurl was built without HTTP/3", "set `auto`")
        }
    }
}

extension SettingsKind where Value == SocketAddress {
    static var proxy: SettingsKind {
        .scalar(
            "the URL of an HTTP proxy with IP address and port, such as http://192.0.2.1:3128",
            schema: SettingsSchema.string(#"^http://(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]{1,5}/?$"#),
            read: { text throws(Mismatch) in
                guard !text.contains("@") else {
                    throw Mismatch(message: "proxies with a password are not supported")
                }
                guard let scheme = text.firstRange(of: "://") else {
                    _ = try SocketAddress.literal(text, defaultPort: 0)
                    throw Mismatch(hint: "did you mean `http://\(text.shortened)`?")
                }
                guard text[..<scheme.lowerBound] == "http" else {
                    throw Mismatch(hint: "write http://; the proxy also tunnels calls over HTTPS")
                }
                var rest = text[scheme.upperBound...]
                if rest.last == "/" { rest.removeLast() }
                let address = try SocketAddress.literal(String(rest), defaultPort: 0)
                guard address.port != 0 else { throw Mismatch(hint: "add the port of the proxy") }
                try address.checkServer()
                return address
            },
            write: { .text("http://\($0)") }
        )
    }
}

extension SettingsKind where Value == [String: String] {
    static func parameters(
        _ complaint: @escaping @Sendable (_ name: String, _ value: String) -> String?
    ) -> SettingsKind {
        let expected = "a mapping of names to values"
        return SettingsKind(
            expected: expected,
            read: { node, key, reading in
                guard case .mapping(let pairs) = node.content else {
                    reading.reportMismatch(node, key, expected: expected)
                    return nil
                }
                let range = SettingsLimits.parameters
                guard range.contains(pairs.count) else {
                    reading.report(
                        node.place,
                        "`\(key.shown)` takes up to \(range.upperBound) parameters"
                    )
                    return nil
                }
                var parameters: [String: String] = [:]
                for pair in pairs {
                    let item = key.option(pair.key.shortened)
                    guard let value = pair.value.scalar, !pair.value.isNull else {
                        reading.reportMismatch(pair.value, item, expected: "a text")
                        reading.damage(key)
                        continue
                    }
                    if let message = complaint(pair.key, value) {
                        reading.report(pair.keyPlace, "`\(key.shown)`: \(message)")
                        reading.damage(key)
                        continue
                    }
                    parameters[pair.key] = value
                }
                return parameters
            },
            write: { parameters in
                .map(parameters.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })
            },
            schema: SettingsSchema.parameters
        )
    }
}
