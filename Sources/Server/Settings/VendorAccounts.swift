// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS

// What each kind of vendor needs to know about an account; the rest is in `VendorSettings`.

/// An account with Tencent Cloud (DNSPod).
package struct TencentSettings: Sendable, Equatable {
    /// How calls are protected.
    package var channel = Tencent.Channel.https

    /// The account's id (the vendor's dnsId); the channels `aes` and `des` need it.
    package var id: Int?

    /// The token of the channel `https`: a decimal number.
    package var token: SecretSetting?

    /// The key of the channels `aes` (16 octets) and `des` (8 octets).
    package var key: SecretSetting?

    /// How the client subnet is told on the channels `aes` and `des`.
    package var clientSubnetForm = Tencent.ClientSubnetForm.encrypted

    /// The name the certificate must carry; nil: the server's IP address.
    package var tlsName: String?

    package init() {}
}

/// An account with Alibaba Cloud (EMAS HTTPDNS).
package struct AlibabaSettings: Sendable, Equatable {
    /// The account's number.
    package var account = ""

    /// The key for signatures, in hexadecimal digits; nil: requests are not signed.
    package var secret: SecretSetting?

    /// The key for `encryption`, 32 hexadecimal digits.
    package var aesKey: SecretSetting?

    /// The generation of the API.
    package var api = Alibaba.API.v2

    /// How parameters and replies are sealed, beyond TLS.
    package var encryption = Alibaba.Encryption.none

    /// What requests travel over.
    package var scheme = VendorScheme.https

    /// The name or IP address the certificate must carry.
    package var tlsName = Alibaba.tlsNames[0]

    /// Where the account's users are.
    package var region = Alibaba.Region.cn

    package init() {}
}

/// A resolver with a JSON API, such as those of Google and AliDNS.
package struct JSONSettings: Sendable, Equatable {
    /// The API.
    package var url: Address?

    /// The number of an account that signs (AliDNS); nil: nothing is signed.
    package var account: String?

    /// The public part of the account's access key.
    package var accessKeyID: String?

    /// The secret part of the account's access key.
    package var secret: SecretSetting?

    /// Whether calls cost money; nil: they do with an account.
    package var isBillable: Bool?

    package init() {}

    /// A URL that the vendor's protocol accepts.
    package struct Address: Sendable, Hashable {
        /// The URL as it was written.
        package let text: String

        /// The port that it names, or its scheme's.
        package let port: UInt16

        /// What requests travel over.
        package var scheme: VendorScheme { text.hasPrefix("https:") ? .https : .http }

        /// Reads what `DNSJSON` accepts.
        init(reading text: String) throws(Mismatch) {
            do throws(DNSJSONSetupError) {
                port = try DNSJSON(url: text).facts.defaultPort
            } catch {
                throw Mismatch()
            }
            self.text = text
        }
    }
}

/// An account with a number and a key that signs, as Baidu and Volcengine have.
package struct SignedSettings: Sendable, Equatable {
    /// The account's number.
    package var account = ""

    /// The key for signatures.
    package var secret: SecretSetting?

    /// What requests travel over.
    package var scheme = VendorScheme.https

    /// The name or IP address the certificate must carry.
    package var tlsName: String

    package init(tlsName: String) { self.tlsName = tlsName }
}

/// What requests travel over.
package enum VendorScheme: String, Sendable, Hashable, CaseIterable {
    /// TLS.
    case https

    /// Plain HTTP, which others can read and forge unless the vendor's protocol prevents it.
    case http

    /// The port of a server without one.
    package var port: UInt16 { self == .https ? 443 : 80 }
}
