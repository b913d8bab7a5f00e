// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS
internal import Net

extension VendorSettings {
    /// Returns the test calls of `httpdnsctl prove`, the most important first.
    package func proofs(name: Name, unknown: Name, client: IPAddress) throws -> [ProofCase] {
        let vendor = try account.vendor()
        let isReadable = !isSealed
        func proof(
            _ label: String,
            _ families: Families,
            _ names: [Name]? = nil,
            by other: (any Vendor)? = nil,
            client: IPAddress? = nil
        ) -> ProofCase {
            var proof = ProofCase(
                label,
                vendor: other ?? vendor,
                query: VendorQuery(
                    names: names ?? [name],
                    families: families,
                    clientSubnet: client ?? self.client.clientSubnet
                )
            )
            proof.isReadable = isReadable
            return proof
        }
        var proofs = [proof("families: A", .v4)]
        func add(_ each: ProofCase, _ expectation: ProofCase.Expectation) {
            var each = each
            each.expectation = expectation
            proofs.append(each)
        }
        add(proof("families: AAAA", .v6), .readable)
        if vendor.facts.pairsFamilies { proofs.append(proof("families: A and AAAA", .both)) }
        add(proof("unknown name", .v4, [unknown]), .noAddress)
        if vendor.facts.maximumNames > 1 {
            proofs.append(proof("batch of two names", .v4, [name, unknown]))
        }
        add(proof("client-subnet: \(client)", .v4, client: client), .client(client))
        if let forged = withOtherSecrets {
            add(proof("signature with another key", .v4, by: try forged.account.vendor()), .refusal)
        }
        if signsTime {
            var late = proof("expired signature", .v4)
            late.clockOffset = -Self.expiredBy
            add(late, .refusal)
        }
        if account.usesTLS {
            for (version, text) in [(HTTPVersion.http1, "1.1"), (.http2, "2")] {
                var each = proof("http: \(text)", .v4)
                each.version = version
                add(each, .version(text))
            }
            if let renamed = withOtherCertificateName {
                let each = proof("another certificate name", .v4, by: try renamed.account.vendor())
                add(each, .certificateError)
            }
        }
        for other in otherChannels {
            guard let api = try? other.account.vendor() else { continue }
            var each = proof("channel \(other.account.channel) \(other.scheme)", .v4, by: api)
            each.isReadable = !other.isSealed
            proofs.append(each)
        }
        return proofs
    }

    /// Age in seconds of the expired signature; every documented validity is shorter.
    private static let expiredBy: Int64 = 2 * 86_400

    private var scheme: String { account.usesTLS ? "https" : "http" }

    private var isSealed: Bool {
        switch account {
        case .tencent(let account): account.channel != .https
        case .alibaba(let account): account.encryption != .none
        case .json, .baidu, .volcengine: false
        }
    }

    private var signsTime: Bool {
        switch account {
        case .tencent(let account): account.authExpiry
        case .alibaba(let account): account.secret != nil
        case .json(let account): account.account != nil
        case .baidu, .volcengine: true
        }
    }

    /// Copy of the settings with wrong keys of the right length; nil if the account has no key.
    private var withOtherSecrets: VendorSettings? {
        func other(_ secret: SecretSetting?) -> SecretSetting? {
            secret.map { secret in
                var zeros = [UInt8](repeating: UInt8(ascii: "0"), count: secret.value.count)
                return SecretSetting(wiping: &zeros, source: secret.source)
            }
        }
        var copy = self
        switch account {
        case .tencent:
            copy.tencent.token = other(tencent.token)
            copy.tencent.key = other(tencent.key)
        case .alibaba:
            guard alibaba.secret != nil else { return nil }
            copy.alibaba.secret = other(alibaba.secret)
        case .json:
            guard json.secret != nil else { return nil }
            copy.json.secret = other(json.secret)
        case .baidu: copy.baidu.secret = other(baidu.secret)
        case .volcengine: copy.volcengine.secret = other(volcengine.secret)
        }
        return copy
    }

    /// Copy of the settings with a wrong certificate name; nil if the URL determines the name.
    private var withOtherCertificateName: VendorSettings? {
        let name = "certificate.example.com"
        var copy = self
        switch account {
        case .tencent: copy.tencent.tlsName = name
        case .alibaba: copy.alibaba.tlsName = name
        case .baidu: copy.baidu.tlsName = name
        case .volcengine: copy.volcengine.tlsName = name
        case .json: return nil
        }
        return copy
    }

    /// Copies of these settings, one for each channel of the vendor that these settings do not use.
    ///
    /// If a copy lacks the key of its channel, `vendor()` throws, and the caller skips the copy.
    private var otherChannels: [VendorSettings] {
        func copy(_ account: Account) -> VendorSettings {
            var copy = self
            copy.account = account
            return copy
        }
        switch account {
        case .alibaba(let own):
            var others: [VendorSettings] = []
            for scheme in VendorScheme.allCases {
                for encryption in Alibaba.Encryption.allCases
                where encryption == .none || own.aesKey != nil {
                    var other = own
                    (other.scheme, other.encryption, other.api) = (scheme, encryption, .v2)
                    if other != own { others.append(copy(.alibaba(other))) }
                }
                var old = own
                (old.scheme, old.encryption, old.api) = (scheme, .none, .v1)
                if old != own { others.append(copy(.alibaba(old))) }
            }
            return others
        case .tencent(let own):
            return Tencent.Channel.allCases.filter { $0 != own.channel }.map { channel in
                var other = own
                other.channel = channel
                return copy(.tencent(other))
            }
        case .baidu(var own):
            own.scheme = own.scheme == .https ? .http : .https
            return [copy(.baidu(own))]
        case .volcengine(var own):
            own.scheme = own.scheme == .https ? .http : .https
            return [copy(.volcengine(own))]
        case .json: return []
        }
    }

    /// Values that the report of `httpdnsctl prove` must not contain.
    package var accountNumbers: [String] {
        switch account {
        case .tencent(let account): account.id.map { ["\($0)"] } ?? []
        case .alibaba(let account): [account.account]
        case .json(let account): [account.account, account.accessKeyID].compactMap(\.self)
        case .baidu(let account): [account.account]
        case .volcengine(let account): [account.account]
        }
    }
}
