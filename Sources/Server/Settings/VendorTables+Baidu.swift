// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

/// An account with Baidu Cloud.
package struct BaiduSettings: Sendable, Equatable {
    /// The account's number.
    package var account = ""

    /// The key for signatures.
    package var secret: SecretSetting?

    /// What requests travel over.
    package var scheme = VendorScheme.https

    /// The name or IP address the certificate must carry.
    package var tlsName = Baidu.defaultTLSName

    package init() {}
}

extension VendorSettings {
    /// The account with Baidu; of another kind, the defaults.
    ///
    /// Setting it sets the kind.
    var baidu: BaiduSettings {
        get { if case .baidu(let settings) = account { settings } else { BaiduSettings() } }
        set { account = .baidu(newValue) }
    }
}

// MARK: - The vendor

extension BaiduSettings: VendorAccount {
    static let about = "Baidu Cloud. \(VendorSettings.undocumented)"

    var secrets: [(option: String, secret: SecretSetting?)] {
        [("secret", secret)]
    }

    var channelName: String { scheme.rawValue }

    var usesTLS: Bool { scheme == .https }

    var documentedServers: [String] { Baidu.defaultServers }

    func vendor() throws -> any Vendor {
        guard let secret else { throw AccountError.secret }
        return try Baidu(account: account, secret: secret.value, usesTLS: usesTLS, tlsName: tlsName)
    }

    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        VendorSettings.warnOfPlainHTTP(scheme, path, &reading)
    }
}

// MARK: - Options

extension BaiduSettings {
    static let options: [SettingsOption<VendorSettings>] = [
        VendorSettings.account(\.baidu.account),
        .option(
            "secret",
            \.baidu.secret,
            .secret { secret in
                complaint { () throws(AccountError) in
                    _ = try Baidu(account: "0", secret: secret)
                }
            },
            required: true,
            example: .example("baidu.secret"),
            VendorSettings.signingSecretDoc
        ),
        VendorSettings.scheme(\.baidu.scheme, "Over plain http others can read and forge answers."),
        .option("tls-name", \.baidu.tlsName, .certificateName, VendorSettings.certificateDoc),
        VendorSettings.servers(
            standard: "those that the vendor documents",
            example: Baidu.defaultServers,
            "The port is 443 for https and 80 for http if it is left out."
        ),
        VendorSettings.batching(10),
    ]
}
