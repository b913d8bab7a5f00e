// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import Net

/// A resolver that names without a vendor, or without a vendor's answer, are forwarded to.
package struct UpstreamSettings: Sendable, Equatable {
    /// What routes, logs and counters call it.
    package var name: String

    /// Where it stands in the file.
    package var place: SettingsPlace

    /// How it is reached.
    package var url = UpstreamURL(scheme: .udp, address: SocketAddress.unset)

    /// Whether only routes that name it use it.
    package var only = false

    /// How long one of its answers is waited for.
    package var timeout = Duration.seconds(2)

    package init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }

    /// Makes an upstream that no file describes.
    package init(name: String, url: UpstreamURL) {
        self.init(name: name, place: SettingsPlace())
        self.url = url
    }
}

/// A protocol and an address; never a name that would have to be looked up.
package struct UpstreamURL: Sendable, Hashable, CustomStringConvertible {
    /// The protocols that can be spoken.
    package enum Scheme: String, Sendable, Hashable, CaseIterable {
        /// Plain DNS over UDP, and over TCP when an answer is truncated (RFC 1035 §4.2).
        case udp
    }

    package var scheme: Scheme
    package var address: SocketAddress

    /// Whether somebody on the way can read and forge the answers.
    package var isUnprotected: Bool { scheme == .udp }

    package init(scheme: Scheme, address: SocketAddress) {
        self.scheme = scheme
        self.address = address
    }

    /// The URL, without the port that it would have anyway.
    package var description: String {
        let isUsual = address.port == Self.plainPort
        let host = address.isIPv6 ? "[\(address.host)]" : address.host
        return "\(scheme.rawValue)://" + (isUsual ? host : address.description)
    }
}

extension SocketAddress {
    /// What stands in for an address that is required and still to be read.
    fileprivate static let unset: SocketAddress = {
        guard let address = SocketAddress("0.0.0.0:0") else { preconditionFailure("no literal") }
        return address
    }()
}

// MARK: - Reading

extension UpstreamURL {
    /// The port of plain DNS (RFC 1035 §4.2.1).
    static let plainPort: UInt16 = 53

    /// Schemes that a later version will know.
    static let later = ["tls", "https"]

    /// The part of a URL before `://`.
    static func scheme(of text: String) -> Substring? {
        text.contains("://") ? text.prefix { $0 != ":" } : nil
    }

    /// Reads `udp://IP` or `udp://IP:PORT`.
    init(reading text: String) throws(Mismatch) {
        guard let word = Self.scheme(of: text) else {
            let isAddress = SocketAddress(text, defaultPort: Self.plainPort) != nil
            throw Mismatch(hint: isAddress ? "did you mean `udp://\(text)`?" : nil)
        }
        guard let scheme = Scheme(rawValue: String(word)) else {
            let known = Scheme.allCases.map(\.rawValue) + Self.later
            throw Mismatch(
                hint: DidYouMean.closest(to: String(word), among: known)
                    .map { "did you mean `\($0)://`?" }
            )
        }
        let literal = String(text.dropFirst(word.count + "://".count))
        let address = try SocketAddress.literal(literal, defaultPort: Self.plainPort)
        guard address.port != 0, !address.ip.isUnspecified else { throw Mismatch() }
        self.init(scheme: scheme, address: address)
    }
}

// MARK: - Table

extension UpstreamSettings: SettingsEntry {
    static let table = SettingsTable<UpstreamSettings>(
        .option(
            "name",
            \.name,
            .name(of: "a name of your own"),
            required: true,
            example: "office",
            """
            What routes, logs and counters call it.
            """
        ),
        .option(
            "url",
            \.url,
            .upstreamURL,
            required: true,
            example: .example,
            """
            Where it is and how it is spoken to. Plain DNS (udp) asks over UDP, and over TCP when \
            an answer is truncated; anybody on the way can read and forge its answers, so they are \
            counted and labelled as unprotected.
            """
        ),
        .option(
            "only",
            \.only,
            .boolean,
            example: true,
            """
            Whether it serves only the routes that name it. The others serve every name that no \
            route sends elsewhere.
            """
        ),
        .option(
            "timeout",
            \.timeout,
            .duration(SettingsLimits.timeout),
            """
            How long one of its answers is waited for before the next upstream is asked.
            """
        ),
        .notYet("addresses"),
        .notYet("ca-file")
    ).admitting { node, key, reading in
        guard let url = node["url"], let text = url.scalar,
            let scheme = UpstreamURL.scheme(of: text), UpstreamURL.later.contains(String(scheme))
        else { return true }
        reading.reportUnsupported(url.place, "\(scheme)://")
        return false
    }
}

extension UpstreamURL {
    /// The address of the manual's example.
    fileprivate static let example = UpstreamURL(literal: "10.0.0.53:53")

    /// Makes a plain upstream of a literal in this program; traps if it is none.
    init(literal: String) {
        guard let address = SocketAddress(literal, defaultPort: Self.plainPort) else {
            preconditionFailure("`\(literal)` is no address")
        }
        self.init(scheme: .udp, address: address)
    }
}
