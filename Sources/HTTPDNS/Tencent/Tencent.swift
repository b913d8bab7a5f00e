// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Tencent Cloud's HTTPDNS, sold by DNSPod: the `/d` API in its three channels.
///
/// Follows the vendor's pages 379/95497 (HTTP), 379/95498 (HTTPS) and 379/95499 (encryption), and
/// where they disagree with its kits, both.  The request is in `Tencent+Request.swift`, the
/// grammar of replies in `TencentReply.swift`.
package struct Tencent: Vendor {
    /// How a request is protected and who it says we are.
    enum Access: Sendable {
        /// TLS and the account's token.
        case token(Secret, id: Int?)

        /// Plain HTTP, with the name and the reply sealed under the account's key.
        case sealed(any Cipher, algorithm: Channel, id: Int)
    }

    /// How a request is protected and who it says we are.
    let access: Access

    /// Scheme and peer name of the URLs.
    let origin: Origin

    /// How `ip=` is written in the sealed channels.
    let clientSubnetForm: ClientSubnetForm

    /// Whether names carry the second they expire, as accounts with theft protection want.
    private(set) var expires: Bool

    package var facts: VendorFacts {
        VendorFacts(
            kind: "tencent",
            maximumNames: 8,
            pairsFamilies: true,
            isBillable: true,
            defaultPort: origin.defaultPort,
            usesTLS: origin.usesTLS
        )
    }

    package var trialName: Name { .trial(origin.name ?? "www.dnspod.cn") }

    /// With an expiry or without one, whichever was refused: no page says who must send which.
    package func alternative(after error: VendorError) -> (any Vendor)? {
        guard case .unauthorized(status: 401, _) = error else { return nil }
        var other = self
        other.expires.toggle()
        return other
    }

    package var scheduling: (any AddressScheduling)? { self }
}

// MARK: - Settings

extension Tencent {
    /// The three ways to ask, as in the setting `channel:`.
    package enum Channel: String, Sendable, Hashable, CaseIterable {
        /// HTTPS with a token.
        case https

        /// HTTP, sealed with AES-128-CBC.
        case aes

        /// HTTP, sealed with DES-ECB; the only one of the international edition.
        case des
    }

    /// The two editions of the service, as in the setting `region:`.
    package enum Region: String, Sendable, Hashable, CaseIterable {
        /// Mainland China.
        case cn

        /// The international edition, which has only the channel `des` (page 1130/44468).
        case international

        /// The channels that it is offered over.
        package var channels: [Channel] {
            switch self {
            case .cn: Channel.allCases
            case .international: [.des]
            }
        }

        /// The servers that the vendor documents for a channel, the first one first.
        package func servers(for channel: Channel) -> [String] {
            switch (self, channel) {
            case (.cn, .https): ["119.29.29.99", "119.28.28.99"]
            case (.cn, .aes), (.cn, .des): ["119.29.29.98", "119.28.28.98"]
            case (.international, .des): ["43.132.55.55"]
            case (.international, _): []
            }
        }

        /// The start-up servers for a channel, which `/conf` is asked of.
        ///
        /// The page (379/116336) has customers ask the vendor's support for them; these are built
        /// into its kits.  None are known of the international edition.
        package func startUpServers(for channel: Channel) -> [String] {
            switch (self, channel) {
            case (.cn, .https): ["119.29.29.89", "119.28.28.89"]
            case (.cn, .aes), (.cn, .des): ["119.29.29.88", "119.28.28.88"]
            case (.international, _): []
            }
        }
    }

    /// How the client subnet is written, as in the setting `client-subnet-form:`.
    ///
    /// The vendor's pages say that it is sealed like the name; both of its kits send it plain.
    package enum ClientSubnetForm: String, Sendable, Hashable, CaseIterable {
        case encrypted
        case plain
    }

    /// Uses the channel `https`.
    ///
    /// - Parameters:
    ///   - token: what the console shows for the HTTPS channel.
    ///   - id: the account's number, which the kits send and the pages call optional.
    ///   - tlsName: the name the certificate must have; without one it must have the server's IP.
    ///   - expires: whether names carry the second they expire (setting `auth-expiry:`).
    /// - Throws: `TencentSetupError.id`, `.token` or `.tlsName`.
    package init(
        token: Secret,
        id: Int? = nil,
        tlsName: Name? = nil,
        expires: Bool = false
    ) throws(TencentSetupError) {
        if let id { try Self.check(id: id) }
        let isPrintable = token.allSatisfy { (0x21...0x7E).contains($0) }
        guard (1...VendorLimits.maximumToken).contains(token.count), isPrintable else {
            throw .token
        }
        if let tlsName, !tlsName.isHostname { throw .tlsName }
        access = .token(token, id: id)
        origin = .https(name: tlsName?.text)
        clientSubnetForm = .plain
        self.expires = expires
    }

    /// Uses the channel `aes` or `des`.
    ///
    /// - Parameters:
    ///   - key: the account's key, 16 octets for AES and 8 for DES.
    ///   - id: the account's number.
    ///   - algorithm: `.aes` or `.des`.
    ///   - expires: whether names carry the second they expire (setting `auth-expiry:`).
    /// - Precondition: `algorithm` is not `.https`, which has a token in place of a key.
    /// - Throws: `TencentSetupError.id` or `.cipher`.
    package init(
        key: Secret,
        id: Int,
        algorithm: Channel,
        clientSubnetForm: ClientSubnetForm = .encrypted,
        expires: Bool = false
    ) throws(TencentSetupError) {
        try Self.check(id: id)
        let cipher: any Cipher
        do throws(CipherError) {
            switch algorithm {
            case .aes: cipher = try AES128CBC(key: key)
            case .des: cipher = try DESECB(key: key)
            case .https: preconditionFailure("the channel https has a token, not a key")
            }
        } catch {
            throw .cipher(error)
        }
        access = .sealed(cipher, algorithm: algorithm, id: id)
        origin = .http()
        self.clientSubnetForm = clientSubnetForm
        self.expires = expires
    }

    /// Accepts any positive 32-bit number: the pages say 1…100000, but say it differently by page.
    private static func check(id: Int) throws(TencentSetupError) {
        guard (1...Int(Int32.max)).contains(id) else { throw .id }
    }
}

/// Why an account's settings cannot be used.
package enum TencentSetupError: Error, Hashable {
    /// The account's number is not in 1…2³¹-1.
    case id

    /// The token is empty, too long, or has octets that are not printable ASCII.
    case token

    /// The TLS name is no host name.
    case tlsName

    /// The key or the cipher cannot be used.
    case cipher(CipherError)
}

extension TencentSetupError: CustomStringConvertible {
    /// One line for the operator, without the secret.
    package var description: String {
        switch self {
        case .id: "the id must be a whole number from 1 to 2147483647"
        case .token:
            "the token must be 1 to \(VendorLimits.maximumToken) printable ASCII characters"
        case .tlsName: "the TLS name is no host name"
        case .cipher(let error): error.description
        }
    }
}

// MARK: - Showing no secret

extension Tencent: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        switch access {
        case .token: "tencent over https"
        case .sealed(_, let algorithm, _): "tencent over http with \(algorithm.rawValue)"
        }
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
