// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

/// Scheme and peer name of a vendor's URLs.
enum Origin: Sendable, Hashable {
    /// Plain HTTP, with the server's IP address as host unless there is a `name`.
    case http(name: String? = nil)

    /// TLS; the certificate must be for `name`, or else for the server's IP address.
    case https(name: String?)

    /// The name of the peer; nil if it is known by its address.
    var name: String? {
        switch self {
        case .http(let name), .https(let name): name
        }
    }

    /// Whether TLS authenticates the server and protects what it says.
    var usesTLS: Bool { if case .https = self { true } else { false } }

    /// The port that is not written.
    var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https: 443
        }
    }

    /// The URL up to its path: `http://192.0.2.1`, `https://[2001:db8::1]:8443`.
    ///
    /// The interface of a link-local server is left out: the URL only names the peer.
    func url(at server: SocketAddress) -> String {
        var url: String
        switch self {
        case .http(let name): url = "http://" + (name ?? Self.literal(server))
        case .https(let name): url = "https://" + (name ?? Self.literal(server))
        }
        if server.port != defaultPort { url += ":\(server.port)" }
        return url
    }

    /// The server's address as a URL has it.
    private static func literal(_ server: SocketAddress) -> String {
        server.isIPv6 ? "[" + server.host.prefix { $0 != "%" } + "]" : server.host
    }
}

/// Writes the query part of a URL.
struct QueryWriter {
    private var octets: [UInt8]

    /// Goes on after the parameters of `text`.
    init(_ text: String = "") {
        octets = []
        octets.reserveCapacity(Self.usualOctets)
        octets += text.utf8
    }

    /// What nearly all queries fit into, so that no array grows.
    private static let usualOctets = 512

    /// The parameters so far, without the question mark.
    var text: String { String(decoding: octets, as: Unicode.UTF8.self) }

    /// Appends `name=value`, escaping in the value what has a meaning in a URL.
    ///
    /// Comma, semicolon and colon stay as they are: RFC 3986 §3.4 allows them, the vendors' own
    /// kits send them so, and signatures are made over them.
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
