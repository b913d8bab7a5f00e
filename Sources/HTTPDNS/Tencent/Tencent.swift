// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Tencent Cloud HTTPDNS (DNSPod): the `/d` API with its three channels.
///
/// Follows the vendor's pages 379/95497 (HTTP), 379/95498 (HTTPS) and 379/95499 (encryption); where
/// pages and SDKs disagree, both variants are accepted. `Tencent+Request.swift` has the request,
/// `TencentReply.swift` the grammar of replies.
package struct Tencent: Vendor {
    /// Protection and authentication of a request.
    enum Access: Sendable {
        /// TLS and the account's token.
        case token(Secret, id: Int?)

        /// Plain HTTP, with name and reply encrypted by the account's key.
        case sealed(any Cipher, algorithm: Channel, id: Int)
    }

    /// Protection and authentication of a request.
    let access: Access

    let origin: Origin

    /// Form of `ip=` in the encrypted channels.
    let clientSubnetForm: ClientSubnetForm

    /// True if names carry their expiry time, which accounts with anti-theft protection require.
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

    /// Returns the API with the expiry added or removed after a 401.
    ///
    /// The documentation does not say which accounts need an expiry.
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
    /// Channels, as in the setting `channel:`.
    package enum Channel: String, Sendable, Hashable, CaseIterable {
        case https

        /// HTTP, encrypted with AES-128-CBC.
        case aes

        /// HTTP, encrypted with DES-ECB; the only channel of the international edition.
        case des
    }

    /// Editions of the service, as in the setting `region:`.
    package enum Region: String, Sendable, Hashable, CaseIterable {
        /// Mainland China.
        case cn

        /// International edition, which has only the channel `des` (page 1130/44468).
        case international

        /// Channels that the edition offers.
        package var channels: [Channel] {
            switch self {
            case .cn: Channel.allCases
            case .international: [.des]
            }
        }

        /// Returns the documented servers of a channel, primary first.
        package func servers(for channel: Channel) -> [String] {
            switch (self, channel) {
            case (.cn, .https): ["119.29.29.99", "119.28.28.99"]
            case (.cn, .aes), (.cn, .des): ["119.29.29.98", "119.28.28.98"]
            case (.international, .des): ["43.132.55.55"]
            case (.international, _): []
            }
        }

        /// Returns the start-up servers of a channel, which serve `/conf`.
        ///
        /// Page 379/116336 refers customers to the vendor's support; these addresses are from the
        /// SDKs. No start-up server of the international edition is known.
        package func startUpServers(for channel: Channel) -> [String] {
            switch (self, channel) {
            case (.cn, .https): ["119.29.29.89", "119.28.28.89"]
            case (.cn, .aes), (.cn, .des): ["119.29.29.88", "119.28.28.88"]
            case (.international, _): []
            }
        }
    }

    /// Form of the client subnet, as in the setting `client-subnet-form:`.
    ///
    /// The vendor documents it as encrypted like the name; both SDKs send it in plain text.
    package enum ClientSubnetForm: String, Sendable, Hashable, CaseIterable {
        case encrypted
        case plain
    }

    /// Creates the API with the channel `https`.
    ///
    /// - Parameters:
    ///   - id: optional in the documentation, but sent by the SDKs.
    ///   - tlsName: nil means the server's IP address.
    ///   - expires: the setting `auth-expiry`.
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

    /// Creates the API with the channel `aes` (key of 16 octets) or `des` (8 octets).
    ///
    /// - Parameter expires: the setting `auth-expiry`.
    /// - Precondition: `algorithm` is not `.https`.
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
            case .https: preconditionFailure("the channel https needs a token, not a key")
            }
        } catch {
            throw .cipher(error)
        }
        access = .sealed(cipher, algorithm: algorithm, id: id)
        origin = .http()
        self.clientSubnetForm = clientSubnetForm
        self.expires = expires
    }

    /// Accepts any positive 32-bit number, because the documented ranges differ between pages.
    private static func check(id: Int) throws(TencentSetupError) {
        guard (1...Int(Int32.max)).contains(id) else { throw .id }
    }
}

/// Error in the settings of a Tencent account.
package enum TencentSetupError: Error, Hashable {
    /// The account number is not in 1…2³¹-1.
    case id

    /// The token is empty, too long, or not printable ASCII.
    case token

    case tlsName

    case cipher(CipherError)
}

extension TencentSetupError: CustomStringConvertible {
    /// One line for the operator, without the secret.
    package var description: String {
        switch self {
        case .id: "the id must be a whole number from 1 to 2147483647"
        case .token:
            "the token must be 1 to \(VendorLimits.maximumToken) printable ASCII characters"
        case .tlsName: "the TLS name is not a host name"
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
