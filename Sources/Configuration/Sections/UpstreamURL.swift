// SPDX-License-Identifier: Apache-2.0
internal import Control
import DNSWire
package import Net

/// URL of an upstream; a host name in the URL is never resolved.
package struct UpstreamURL: Sendable, Hashable, CustomStringConvertible {
    package enum Scheme: String, Sendable, Hashable, CaseIterable {
        /// Plain DNS over UDP, and over TCP after a truncated reply (RFC 1035 §4.2).
        case udp

        case tcp
        case tls
        case https

        package var isProtected: Bool { self == .tls || self == .https }

        var defaultPort: UInt16 {
            switch self {
            case .udp, .tcp: 53
            case .tls: 853
            case .https: 443
            }
        }
    }

    package let scheme: Scheme

    /// Name or address that the certificate must contain.
    package let host: String

    package let port: UInt16

    package let path: String

    package var address: SocketAddress? {
        SocketAddress(host.contains(":") ? "[\(host)]" : host, defaultPort: port)
    }

    package var isUnprotected: Bool { !scheme.isProtected }

    /// URL without parameter values.
    package var description: String { text.withoutParameterValues }

    /// Complete URL, which may contain secrets.
    package var text: String {
        let host = host.contains(":") ? "[\(host)]" : host
        let port = port == scheme.defaultPort ? "" : ":\(port)"
        return "\(scheme.rawValue)://\(host)\(port)\(path)"
    }

    /// Uses DNS over TLS if `tlsName` is set, otherwise plain DNS.
    package init(to address: SocketAddress, tlsName: String?) {
        scheme = tlsName == nil ? .udp : .tls
        host = tlsName ?? address.host
        port = address.port
        path = ""
    }

    /// Traps if the literal is invalid.
    init(literal: String) {
        do throws(Mismatch) {
            try self.init(reading: literal.contains("://") ? literal : "udp://\(literal)")
        } catch {
            preconditionFailure("`\(literal)` is not the URL of an upstream")
        }
    }
}

// MARK: - Reading

extension UpstreamURL {
    private static let maximumOctets = 1024

    /// Parses `udp://IP`, `tcp://IP`, `tls://HOST` or `https://HOST/PATH`.
    init(reading text: String) throws(Mismatch) {
        let isPrintable = text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        guard isPrintable, text.utf8.count <= Self.maximumOctets, !text.contains("\\") else {
            throw Mismatch()
        }
        guard let end = text.firstRange(of: "://") else {
            let isAddress = SocketAddress(text, defaultPort: 53) != nil
            throw Mismatch(hint: isAddress ? "did you mean `udp://\(text)`?" : nil)
        }
        let word = String(text[..<end.lowerBound])
        guard let scheme = Scheme(rawValue: word) else {
            throw Mismatch(hint: Self.hint(forScheme: word))
        }
        let rest = text[end.upperBound...]
        let authority = rest.prefix { !"/?#".contains($0) }
        // The message does not quote the text, which may contain a password.
        guard !authority.contains("@") else {
            throw Mismatch(message: "a URL with a user name is not supported")
        }
        let tail = String(rest[authority.endIndex...])
        switch scheme {
        case .udp, .tcp:
            let literal = String(rest)
            let address = try SocketAddress.literal(literal, defaultPort: scheme.defaultPort)
            let isBare = !literal.hasPrefix("[") && address.isIPv6
            guard !isBare else { throw Mismatch(hint: "write the address in brackets") }
            guard address.port != 0 else { throw .port(of: text) }
            try address.checkServer()
            (host, port, path) = (address.host, address.port, "")
        case .tls:
            guard tail.isEmpty || tail == "/" else {
                throw Mismatch(hint: "only https:// URLs have a path")
            }
            (host, port) = try Self.authority(authority, scheme)
            path = ""
        case .https:
            (host, port) = try Self.authority(authority, scheme)
            path = try Self.path(tail, after: "https://\(authority)")
        }
        self.scheme = scheme
    }

    private static func hint(forScheme word: String) -> String? {
        switch word {
        case "dot": "did you mean `tls://`?"
        case "doh", "h2": "did you mean `https://`?"
        case "http": "DNS over HTTP is not encrypted: use https://"
        default:
            DidYouMean.closest(to: word, among: Scheme.allCases.map(\.rawValue))
                .map { "did you mean `\($0)://`?" }
        }
    }

    private static func authority(
        _ text: Substring,
        _ scheme: Scheme
    ) throws(Mismatch) -> (host: String, port: UInt16) {
        if let address = SocketAddress(String(text), defaultPort: scheme.defaultPort) {
            let isBare = !text.hasPrefix("[") && address.isIPv6
            guard !isBare else { throw Mismatch(hint: "write the address in brackets") }
            guard address.port != 0 else { throw .port(of: String(text)) }
            try address.checkServer()
            return (address.host, address.port)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let name = try? Name(String(first)),
            name.isHostname
        else { throw Mismatch() }
        guard parts.count == 2 else { return (name.text, scheme.defaultPort) }
        guard parts[1].utf8.allSatisfy(\.isDigit), let port = UInt16(parts[1]),
            port != 0
        else { throw .port(of: String(text)) }
        return (name.text, port)
    }

    private static func path(_ text: String, after start: String) throws(Mismatch) -> String {
        // Removes `{?dns}`, with which the URI templates of providers end (RFC 8484 §4.1).
        let path = text.hasSuffix("{?dns}") ? String(text.dropLast(6)) : text
        guard path.count > 1 else {
            throw Mismatch(
                message: "an https URL needs a path",
                hint: "most servers use `\(start)/dns-query`"
            )
        }
        guard path.hasPrefix("/"), !path.contains(where: { "#{}<>\"`".contains($0) }) else {
            throw Mismatch()
        }
        return path
    }
}
