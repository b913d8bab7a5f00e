// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net

/// Scheme and peer name of a vendor's URLs.
enum Origin: Sendable, Hashable {
    /// Plain HTTP, with the server's IP address as host unless there is a `name`.
    case http(name: String? = nil)

    /// TLS; the certificate must be for `name`, or else for the server's IP address.
    case https(name: String?)

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
        let host = String(server.host.prefix { $0 != "%" })
        let literal = server.isIPv6 ? "[\(host)]" : host
        let authority =
            switch self {
            case .http(let name): "http://" + (name ?? literal)
            case .https(let name): "https://" + (name ?? literal)
            }
        return server.port == defaultPort ? authority : "\(authority):\(server.port)"
    }
}

/// Writes the query part of a URL.
struct QueryWriter {
    /// The parameters so far, without the question mark.
    private(set) var text = ""

    /// Appends `name=value`, escaping in the value what has a meaning in a URL.
    ///
    /// Comma, semicolon and colon stay as they are: RFC 3986 §3.4 allows them, the vendors' own
    /// kits send them so, and signatures are made over them.
    mutating func append(_ name: String, _ value: String) {
        if !text.isEmpty { text += "&" }
        text += name
        text += "="
        for octet in value.utf8 {
            switch octet {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ","), UInt8(ascii: ";"),
                UInt8(ascii: ":"):
                text.unicodeScalars.append(Unicode.Scalar(octet))
            default:
                text += "%" + Hexadecimal.encode([octet]).uppercased()
            }
        }
    }
}
