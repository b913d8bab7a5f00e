// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

enum Origin: Sendable, Hashable {
    /// Plain HTTP; `name` is the host of the URL, nil for the server's IP address.
    case http(name: String? = nil)

    /// HTTPS with a certificate for `name`, nil for the server's IP address.
    case https(name: String?)

    var name: String? {
        switch self {
        case .http(let name), .https(let name): name
        }
    }

    var usesTLS: Bool { if case .https = self { true } else { false } }

    var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https: 443
        }
    }

    /// Returns scheme, host and port of the URL, without the zone of a link-local address.
    func url(at server: SocketAddress) -> String { QueryWriter(self, at: server).text }

    fileprivate static func literal(_ server: SocketAddress) -> String {
        server.isIPv6 ? "[" + server.host.prefix { $0 != "%" } + "]" : server.host
    }
}

struct QueryWriter {
    private var octets: [UInt8]

    init() {
        octets = []
        octets.reserveCapacity(Self.usualOctets)
    }

    init(_ origin: Origin, at server: SocketAddress) {
        self.init()
        octets += (origin.usesTLS ? "https://" : "http://").utf8
        octets += (origin.name ?? Origin.literal(server)).utf8
        guard server.port != origin.defaultPort else { return }
        octets.append(UInt8(ascii: ":"))
        octets += String(server.port).utf8
    }

    private static let usualOctets = 512

    var text: String { String(decoding: octets, as: Unicode.UTF8.self) }

    mutating func append(_ raw: [UInt8]) { octets += raw }

    /// Returns false if `name` is not a hostname.
    mutating func append(_ name: Name) -> Bool { name.appendHostText(to: &octets) }

    /// Appends `name=value`, percent-encoded except for `,;:` (RFC 3986 §3.4), as in the SDKs.
    mutating func append(_ name: String, _ value: String) {
        if !octets.isEmpty { octets.append(UInt8(ascii: "&")) }
        octets += name.utf8
        octets.append(UInt8(ascii: "="))
        octets.append(escaping: value, except: "-._~,;:")
    }
}

extension [UInt8] {
    mutating func append(escaping text: String, except others: String) {
        for octet in text.utf8 {
            if octet.isAlphanumeric || others.utf8.contains(octet) {
                append(octet)
            } else {
                self += "%\([octet].hexadecimal.uppercased())".utf8
            }
        }
    }
}
