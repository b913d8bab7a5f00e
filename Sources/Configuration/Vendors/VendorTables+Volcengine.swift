// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

/// Settings of a Volcengine (ByteDance) account.
package struct VolcengineSettings: Sendable, Equatable {
    package var account = ""
    package var secret: SecretSetting?
    package var scheme = VendorScheme.https
    package var tlsName = Volcengine.defaultTLSName
}

extension VendorSettings {
    var volcengine: VolcengineSettings {
        get {
            if case .volcengine(let settings) = account { settings } else { VolcengineSettings() }
        }
        set { account = .volcengine(newValue) }
    }
}

// MARK: - The vendor

extension VolcengineSettings: VendorAccount {
    static let about = "Volcengine (ByteDance). \(VendorSettings.undocumented)"
    var secrets: [(option: String, secret: SecretSetting?)] { [("secret", secret)] }
    var channelName: String { scheme.rawValue }
    var usesTLS: Bool { scheme == .https }
    var documentedServers: [String] { [] }

    func vendor() throws -> any Vendor {
        guard let secret else { throw AccountError.secret }
        return try Volcengine(
            account: account,
            secret: secret.value,
            usesTLS: usesTLS,
            tlsName: tlsName
        )
    }

    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        VendorSettings.warnOfPlainHTTP(scheme, path, &reading)
    }
}

// MARK: - Options

extension VolcengineSettings {
    static let options: [SettingsOption<VendorSettings>] = [
        VendorSettings.account(\.volcengine.account),
        .option(
            "secret",
            \.volcengine.secret,
            .secret { secret in
                complaint { () throws(AccountError) in
                    _ = try Volcengine(account: "0", secret: secret)
                }
            },
            required: true,
            example: .example("volcengine.secret")
        ) {
            VendorSettings.signingSecretDoc
        },
        VendorSettings.scheme(
            \.volcengine.scheme,
            "An attacker on the network path can read and forge answers over plain http."
        ),
        .option("tls-name", \.volcengine.tlsName, .certificateName) {
            VendorSettings.certificateDoc
        },
        VendorSettings.servers(
            standard: nil,
            example: ["192.0.2.1"],
            "Ask the vendor for the addresses. Default port: 443 for https, 80 for http."
        ),
    ]
}
