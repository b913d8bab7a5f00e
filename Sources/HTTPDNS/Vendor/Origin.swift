// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

/// Scheme and peer name of a vendor's URLs.
enum Origin: Sendable, Hashable {
    /// Plain HTTP; the host is `name`, or the server's IP address if `name` is nil.
    case http(name: String? = nil)

    /// TLS; the certificate must match `name`, or the server's IP address if `name` is nil.
    case https(name: String?)

    /// Peer name; nil if the peer is identified by its IP address.
    var name: String? {
        switch self {
        case .http(let name), .https(let name): name
        }
    }

    /// True if TLS authenticates the server and protects the reply.
    var usesTLS: Bool { if case .https = self { true } else { false } }

    /// Port that is omitted in a URL.
    var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https: 443
        }
    }

    /// Returns the URL up to its path: `http://192.0.2.1`, `https://[2001:db8::1]:8443`.
    ///
    /// The URL of a link-local server has no interface: the URL only names the peer.
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

/// Writer of the query part of a URL.
struct QueryWriter {
    private var octets: [UInt8]

    /// Starts with the parameters in `text`.
    init(_ text: String = "") {
        octets = []
        octets.reserveCapacity(Self.usualOctets)
        octets += text.utf8
    }

    /// Initial capacity in octets: almost every query fits, so the array does not grow.
    private static let usualOctets = 512

    /// Parameters so far, without the question mark.
    var text: String { String(decoding: octets, as: Unicode.UTF8.self) }

    /// Appends `name=value`; escapes characters of the value that have a meaning in a URL.
    ///
    /// Comma, semicolon and colon are not escaped: RFC 3986 §3.4 allows them, and the vendors' SDKs
    /// send and sign them unescaped.
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
