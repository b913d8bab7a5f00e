// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

enum Origin: Sendable, Hashable {
    /// Plain HTTP to `name`; nil for the server's IP address.
    case http(name: String? = nil)

    /// HTTPS with a certificate for `name`; nil for the server's IP address.
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
    func url(at server: SocketAddress) -> String {
        var url: String
        switch self {
        case .http(let name): url = "http://" + (name ?? Self.literal(server))
        case .https(let name): url = "https://" + (name ?? Self.literal(server))
        }
        if server.port != defaultPort { url += ":\(server.port)" }
        return url
    }

    private static func literal(_ server: SocketAddress) -> String {
        server.isIPv6 ? "[" + server.host.prefix { $0 != "%" } + "]" : server.host
    }
}

struct QueryWriter {
    private var octets: [UInt8]

    init(_ text: String = "") {
        octets = []
        octets.reserveCapacity(Self.usualOctets)
        octets += text.utf8
    }

    private static let usualOctets = 512

    var text: String { String(decoding: octets, as: Unicode.UTF8.self) }

    /// Appends octets without encoding.
    mutating func append(_ raw: [UInt8]) { octets += raw }

    /// Appends `name=value`, percent-encoded except for `,;:`.
    ///
    /// RFC 3986 §3.4 allows these characters, and the SDKs do not encode them.
    mutating func append(_ name: String, _ value: String) {
        if !octets.isEmpty { octets.append(UInt8(ascii: "&")) }
        octets += name.utf8
        octets.append(UInt8(ascii: "="))
        for octet in value.utf8 {
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ","), UInt8(ascii: ";"),
                UInt8(ascii: ":"):
                octets.append(octet)
            default:
                octets += "%\(Hexadecimal.encode([octet]).uppercased())".utf8
            }
        }
    }
}
