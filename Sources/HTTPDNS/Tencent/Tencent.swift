// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Tencent Cloud HTTPDNS (DNSPod): the `/d` API over HTTPS, or with AES or DES.
///
/// Sources: Tencent Cloud documents 379/95497 (HTTP), 379/95498 (HTTPS) and 379/95499 (encryption),
/// and the SDKs.
package struct Tencent: Vendor {
    enum Access: Sendable {
        case token(Secret, id: Int?)

        case sealed(Cipher, algorithm: Channel, id: Int)
    }

    let access: Access

    let origin: Origin

    let clientSubnetForm: ClientSubnetForm

    /// True if each request contains an expiry time after the list of names.
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

    /// Returns the codec with `expires` inverted after a 401.
    ///
    /// The vendor requires an expiry time for accounts with anti-theft protection, and may refuse
    /// it for other accounts.
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
    package enum Channel: String, Sendable, Hashable, CaseIterable {
        case https

        case aes

        case des
    }

    package enum Region: String, Sendable, Hashable, CaseIterable {
        case cn

        /// International edition (Tencent Cloud International document 1130/44468).
        case international

        package var channels: [Channel] {
            switch self {
            case .cn: Channel.allCases
            case .international: [.des]
            }
        }

        /// Returns the documented servers of a channel, the primary server of Tencent first.
        package func servers(for channel: Channel) -> [String] {
            switch (self, channel) {
            case (.cn, .https): ["119.29.29.99", "119.28.28.99"]
            case (.cn, .aes), (.cn, .des): ["119.29.29.98", "119.28.28.98"]
            case (.international, .des): ["43.132.55.55"]
            case (.international, _): []
            }
        }

        /// Returns the servers that answer `/conf` for a channel, according to the SDKs.
        package func startUpServers(for channel: Channel) -> [String] {
            switch (self, channel) {
            case (.cn, .https): ["119.29.29.89", "119.28.28.89"]
            case (.cn, .aes), (.cn, .des): ["119.29.29.88", "119.28.28.88"]
            case (.international, _): []
            }
        }
    }

    /// Form of the client subnet; the vendor's documents and SDKs differ.
    package enum ClientSubnetForm: String, Sendable, Hashable, CaseIterable {
        case encrypted
        case plain
    }

    /// Creates the codec of the channel `https`.
    ///
    /// - Parameters:
    ///   - id: account number; optional, but the SDKs send it.
    ///   - tlsName: name in the certificate; nil for the server's IP address.
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

    /// Creates the codec of the channel `aes` (key of 16 octets) or `des` (8 octets).
    package init(
        key: Secret,
        id: Int,
        algorithm: Channel,
        clientSubnetForm: ClientSubnetForm = .encrypted,
        expires: Bool = false
    ) throws(TencentSetupError) {
        try Self.check(id: id)
        let cipher: Cipher
        do throws(CipherError) {
            switch algorithm {
            case .aes: cipher = try Cipher(.aesCBC, key: key)
            case .des: cipher = try Cipher(.desECB, key: key)
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

    private static func check(id: Int) throws(TencentSetupError) {
        guard (1...Int(Int32.max)).contains(id) else { throw .id }
    }
}

package enum TencentSetupError: Error, Hashable {
    case id

    case token

    case tlsName

    case cipher(CipherError)
}

extension TencentSetupError: CustomStringConvertible {
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

// MARK: - Description without secrets

extension Tencent: Redacted {
    package var description: String {
        switch access {
        case .token: "tencent over https"
        case .sealed(_, let algorithm, _): "tencent over http with \(algorithm.rawValue)"
        }
    }
}
