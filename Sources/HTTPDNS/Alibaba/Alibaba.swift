// SPDX-License-Identifier: Apache-2.0
package import DNSWire
import Net

/// Alibaba Cloud's EMAS HTTPDNS: the APIs v2 (`/v2/d`) and v1 (`/{account}/d` and its kin).
///
/// Follows the vendor's pages 2978980 (v2), 52679, 2868210 and 56810 (v1 and its signature), and
/// its kits for what the pages leave out.  Requests are in `Alibaba+Request.swift`, replies in
/// `Alibaba+Reply.swift`, the service that tells the servers in `Alibaba+Schedule.swift`.
package struct Alibaba: Vendor {
    /// The account's number, which is public.
    let account: String

    /// The key that v1 and the scheduling service sign with: the console's text as it is.
    let secret: Secret?

    /// The key that v2 signs with: the octets of the same text, which is hexadecimal.
    let signingKey: Secret?

    /// What seals parameters and replies of v2; nil leaves them plain.
    let cipher: (any Cipher)?

    /// The generation of the API.
    let api: API

    /// How parameters and replies of v2 are sealed.
    let encryption: Encryption

    /// Scheme and peer name of the URLs.
    private(set) var origin: Origin

    /// Whether the name of the certificates is our guess, so that the other one may be right.
    private let triesOtherName: Bool

    /// Where the account's users are.
    let region: Region

    /// The parameters `sdns-…` by their full names, sorted.
    let parameters: [Parameter]

    /// Whether requests of v2 say `v=1.0`, as the mobile kits do; the page does not know it.
    let sendsVersion: Bool

    /// A parameter that has a part in the signature.
    struct Parameter: Sendable, Hashable {
        let name: String
        let value: String
    }

    package var facts: VendorFacts {
        VendorFacts(
            kind: "alibaba",
            maximumNames: 5,
            pairsFamilies: true,
            isBillable: true,
            defaultPort: origin.defaultPort,
            usesTLS: origin.usesTLS,
            // A reply of another mode is not accepted, and only GCM has a tag.
            isProtected: origin.usesTLS || encryption == .gcm
        )
    }

    package var trialName: Name { .trial(Self.tlsNames[0]) }

    /// Under the other documented name of the certificates, unless the settings say which it is.
    package func alternative(after error: VendorError) -> (any Vendor)? {
        guard case .transport(.tls) = error, triesOtherName, case .https(let name?) = origin,
            let index = Self.tlsNames.firstIndex(of: name)
        else { return nil }
        var other = self
        other.origin = .https(name: Self.tlsNames[1 - index])
        return other
    }

    package var scheduling: (any AddressScheduling)? { self }
}

// MARK: - Settings

extension Alibaba {
    /// The generations of the API, as in the setting `api:`.
    package enum API: String, Sendable, Hashable, CaseIterable {
        /// Signed with HMAC-SHA256; the only one that can be sealed.
        case v2

        /// Signed with MD5; what the vendor calls history.
        case v1
    }

    /// How parameters and replies are sealed, as in the setting `encryption:`.
    package enum Encryption: String, Sendable, Hashable, CaseIterable {
        case none

        /// AES-128-CBC: hides, but does not authenticate.
        case cbc

        /// AES-128-GCM: hides and authenticates, so that plain HTTP is safe.
        case gcm

        /// The value of `m=` and of `mode`.
        var mode: Int64 {
            switch self {
            case .none: 0
            case .cbc: 1
            case .gcm: 2
            }
        }
    }

    /// The names that the vendor's certificates carry: some of its pages and kits check the first,
    /// others the second.
    package static let tlsNames = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"]

    /// Uses an account.
    ///
    /// - Parameters:
    ///   - account: the account's number, as the console shows it.
    ///   - secret: the key for signatures, 32 hexadecimal digits or more; without it requests are
    ///     not signed, which the account must allow.
    ///   - aesKey: the key for `encryption`, 32 hexadecimal digits.
    ///   - tlsName: the name or IP address the certificate must have; nil is either of
    ///     `tlsNames`.
    ///   - parameters: the parameters of custom resolution, by names without `sdns-`.
    ///   - sendsVersion: whether to say `v=1.0`, as the mobile kits do.
    /// - Throws: `AlibabaSetupError`.
    package init(
        account: String,
        secret: Secret? = nil,
        aesKey: Secret? = nil,
        api: API = .v2,
        encryption: Encryption = .none,
        usesTLS: Bool = true,
        tlsName: String? = nil,
        region: Region = .cn,
        parameters: [String: String] = [:],
        sendsVersion: Bool = false
    ) throws(AlibabaSetupError) {
        guard (1...VendorLimits.maximumAccount).contains(account.utf8.count),
            account.utf8.allSatisfy({ $0.isAlphanumeric })
        else { throw .account }
        guard encryption == .none || api == .v2 else { throw .encryptionOfV1 }
        self.account = account
        self.api = api
        self.encryption = encryption
        self.region = region
        self.sendsVersion = sendsVersion
        self.secret = secret
        signingKey = try secret.map { (secret) throws(AlibabaSetupError) in
            guard (1...VendorLimits.maximumAccount).contains(secret.count),
                let key = secret.hexadecimal
            else { throw .secret }
            return key
        }
        cipher = try Self.cipher(encryption, key: aesKey)
        origin = usesTLS ? .https(name: try Self.checked(tlsName: tlsName)) : .http()
        triesOtherName = tlsName == nil
        self.parameters = try Self.checked(parameters)
    }

    /// The cipher of `encryption`, with the console's hexadecimal key.
    private static func cipher(
        _ encryption: Encryption,
        key: Secret?
    ) throws(AlibabaSetupError) -> (any Cipher)? {
        guard encryption != .none else { return nil }
        guard let key = key?.hexadecimal else { throw .aesKey }
        do throws(CipherError) {
            return encryption == .gcm
                ? try AES128GCM(key: key) : try AES128CBC(key: key)
        } catch {
            throw .cipher(error)
        }
    }

    /// The host of the URLs, which the certificate must be for.
    private static func checked(tlsName: String?) throws(AlibabaSetupError) -> String {
        guard let tlsName else { return tlsNames[0] }
        guard let host = HTTPURL.host(tlsName) else { throw .tlsName }
        return host
    }

    /// The parameters of custom resolution under their full names.
    ///
    /// The rules are those of the vendor's kits: few characters, and 1000 octets of all together.
    private static func checked(
        _ parameters: [String: String]
    ) throws(AlibabaSetupError) -> [Parameter] {
        var octets = 0
        for (name, value) in parameters {
            let isUsable =
                !name.isEmpty && name.utf8.allSatisfy(\.isInParameterNames)
                && value.utf8.allSatisfy { $0.isInParameterNames || $0 == UInt8(ascii: "=") }
            guard isUsable else { throw .parameter(name) }
            octets += name.utf8.count + value.utf8.count
        }
        guard octets <= VendorLimits.maximumParameters else { throw .parameters }
        return parameters.map { Parameter(name: "sdns-" + $0, value: $1) }
            .sorted { $0.name < $1.name }
    }
}

extension UInt8 {
    /// Whether this is an ASCII letter or digit.
    var isAlphanumeric: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    /// Whether a parameter's name may have it.
    fileprivate var isInParameterNames: Bool {
        isAlphanumeric || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }
}

// MARK: - Showing no secret

extension Alibaba: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String {
        let scheme = if case .https = origin { "https" } else { "http" }
        return "alibaba \(api.rawValue) over \(scheme), encryption \(encryption.rawValue)"
    }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
