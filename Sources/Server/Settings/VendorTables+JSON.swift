// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

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

        /// The URL of the manual's example.
        fileprivate static let example: Address = {
            guard let address = try? Address(reading: "https://dns.alidns.com/resolve") else {
                preconditionFailure("the example is no URL")
            }
            return address
        }()
    }
}

extension VendorSettings {
    /// The JSON API; of another kind, the defaults.
    ///
    /// Setting it sets the kind.
    var json: JSONSettings {
        get { if case .json(let settings) = account { settings } else { JSONSettings() } }
        set { account = .json(newValue) }
    }
}

// MARK: - The vendor

extension JSONSettings: VendorAccount {
    static let about = """
        A resolver with a DNS API in JSON after Google's model, such as AliDNS, DNSPod, Google and \
        Cloudflare have. It resolves all names, one family a call.
        """

    var secrets: [(option: String, secret: SecretSetting?)] {
        [("secret", secret)]
    }

    var channelName: String { (url?.scheme ?? .https).rawValue }

    var usesTLS: Bool { url?.scheme != .http }

    var port: UInt16 { url?.port ?? 443 }

    var documentedServers: [String] { [] }

    func vendor() throws -> any Vendor {
        guard let url else { throw DNSJSONSetupError.url }
        var signing: DNSJSON.Account?
        if let account {
            guard let accessKeyID, let secret else { throw DNSJSONSetupError.account }
            signing = DNSJSON.Account(id: account, keyID: accessKeyID, secret: secret.value)
        }
        return try DNSJSON(url: url.text, account: signing, isBillable: isBillable)
    }
}

// MARK: - Options

extension JSONSettings {
    static let options: [SettingsOption<VendorSettings>] = [
        .option(
            "url",
            \.json.url,
            .jsonURL,
            required: true,
            example: .example,
            """
            The API. The host is what the certificate must be for, and is never looked up. A query \
            is sent along; {name} and {type} in it stand for what is asked, and without them \
            name= and type= are added.
            """
        ),
        VendorSettings.servers(
            standard: nil,
            example: ["223.5.5.5", "223.6.6.6"],
            "The port is the one of the `url` if it is left out."
        ),
        .option(
            "account",
            \.json.account,
            .account,
            standard: "none, which the free resolvers do not need",
            example: "100000",
            """
            The number of an account with AliDNS (its uid) that signs calls. It needs the two that \
            follow. How to sign is not documented in full: try it before you rely on it.
            """
        ),
        .option(
            "access-key-id",
            \.json.accessKeyID,
            .account,
            example: "100000exampleid",
            """
            The public part of the account's access key (the ak of AliDNS).
            """
        ),
        .option(
            "secret",
            \.json.secret,
            .secret { secret in
                secret.count > VendorLimits.maximumAccount
                    ? "the secret is longer than \(VendorLimits.maximumAccount) octets" : nil
            },
            example: .example("alidns.secret"),
            """
            The secret part of the access key, kept in a file that other users cannot read, or in \
            a credential of systemd: {credential: NAME}.
            """
        ),
        .option(
            "billable",
            \.json.isBillable,
            .boolean,
            standard: "true with an account and false without",
            example: true,
            """
            Whether calls are counted as calls that cost money.
            """
        ),
    ]
}

// MARK: - Checks

extension JSONSettings {
    /// An account is there as a whole or not at all.
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        let parts = ["account", "access-key-id", "secret"]
        let missing = parts.filter { !reading.has("\(path).\($0)") }
        if missing.count < parts.count {
            for option in missing {
                reading.report(
                    reading.place(of: path),
                    "the vendor `\(vendor.name)` needs `\(option)` to sign calls",
                    hint: "`account`, `access-key-id` and `secret` go together"
                )
            }
        }
        if url?.scheme == .http {
            reading.warn(
                reading.place(of: "\(path).url"),
                "over plain HTTP others can read and forge answers, which are labelled as unprotected",
                hint: "say https://"
            )
        }
    }
}
