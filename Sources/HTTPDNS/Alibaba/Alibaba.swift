// SPDX-License-Identifier: Apache-2.0
package import DNSWire
import Net

/// Alibaba Cloud EMAS HTTPDNS: the APIs v2 (`/v2/d`) and v1 (`/{account}/d` and variants).
///
/// Sources: Alibaba Cloud documents 2978980 (v2), 52679, 2868210, 56810 (v1), and the SDKs.
package struct Alibaba: Vendor {
    let account: String

    let secret: Secret?

    /// Signing key of v2: `secret`, decoded from hexadecimal.
    let signingKey: Secret?

    let cipher: Cipher?

    let api: API

    let encryption: Encryption

    private(set) var origin: Origin

    private let triesOtherName: Bool

    let region: Region

    /// Custom parameters, sorted; names have the prefix `sdns-`.
    let parameters: [Parameter]

    /// True to send `v=1.0` in v2, as the mobile SDKs do (undocumented).
    let sendsVersion: Bool

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
            // Without TLS, only GCM detects forged replies.
            isProtected: origin.usesTLS || encryption == .gcm
        )
    }

    package var price: PriceModel {
        PriceModel(
            .family,
            weight: Self.weight(usesTLS: origin.usesTLS, isEncrypted: encryption != .none),
            emptyIsFree: true,
            page: PriceModel.Page(
                "alibabacloud.com/help/en/httpdns/latest/billing",
                readOn: "2026-11-23"
            )
        )
    }

    package static func weight(usesTLS: Bool, isEncrypted: Bool) -> UInt64 {
        usesTLS ? (isEncrypted ? 8 : 5) : (isEncrypted ? 3 : 1)
    }

    package var trialName: Name { .trial(Self.tlsNames[0]) }

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
    package enum API: String, Sendable, Hashable, CaseIterable {
        case v2

        case v1
    }

    package enum Encryption: String, Sendable, Hashable, CaseIterable {
        case none

        case cbc

        case gcm

        var mode: Int64 {
            switch self {
            case .none: 0
            case .cbc: 1
            case .gcm: 2
            }
        }
    }

    package static let tlsNames = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"]

    /// - Parameters:
    ///   - secret: at least 32 hexadecimal digits; nil for unsigned requests.
    ///   - aesKey: 32 hexadecimal digits.
    ///   - tlsName: name or address in the certificate; nil to try all of `tlsNames`.
    ///   - parameters: custom parameters; names without `sdns-`.
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

    private static func cipher(
        _ encryption: Encryption,
        key: Secret?
    ) throws(AlibabaSetupError) -> Cipher? {
        guard encryption != .none else { return nil }
        guard let key = key?.hexadecimal else { throw .aesKey }
        do throws(CipherError) {
            return try Cipher(encryption == .gcm ? .aesGCM : .aesCBC, key: key)
        } catch {
            throw .cipher(error)
        }
    }

    private static func checked(tlsName: String?) throws(AlibabaSetupError) -> String {
        guard let tlsName else { return tlsNames[0] }
        guard let host = HTTPURL.host(tlsName) else { throw .tlsName }
        return host
    }

    static func checked(
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
    var isAlphanumeric: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    fileprivate var isInParameterNames: Bool {
        isAlphanumeric || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }
}

// MARK: - Description without secrets

extension Alibaba: Redacted {
    package var description: String {
        let scheme = if case .https = origin { "https" } else { "http" }
        return "alibaba \(api.rawValue) over \(scheme), encryption \(encryption.rawValue)"
    }
}
