// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

package struct BaiduSettings: Sendable, Equatable {
    package var account = ""
    package var secret: SecretSetting?
    package var scheme = VendorScheme.https
    package var tlsName = Baidu.defaultTLSName
}

extension VendorSettings {
    var baidu: BaiduSettings {
        get { if case .baidu(let settings) = account { settings } else { BaiduSettings() } }
        set { account = .baidu(newValue) }
    }
}

// MARK: - The vendor

extension BaiduSettings: VendorAccount {
    static let about = "Baidu Cloud. \(VendorSettings.undocumented)"
    var secrets: [(option: String, secret: SecretSetting?)] { [("secret", secret)] }
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
            example: .example("baidu.secret")
        ) {
            VendorSettings.signingSecretDoc
        },
        VendorSettings.scheme(
            \.baidu.scheme,
            "An attacker on the network path can read and forge answers over plain http."
        ),
        .option("tls-name", \.baidu.tlsName, .certificateName) { VendorSettings.certificateDoc },
        VendorSettings.servers(
            standard: "the documented servers",
            example: Baidu.defaultServers,
            "Default port: 443 for https, 80 for http."
        ),
        VendorSettings.batching(10),
    ]
}
