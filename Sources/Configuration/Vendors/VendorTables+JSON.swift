// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

/// Settings of a resolver with a JSON API, such as Google or AliDNS.
package struct JSONSettings: Sendable, Equatable {
    package var url: Address?

    /// AliDNS account for signed calls.
    package var account: String?

    package var accessKeyID: String?
    package var secret: SecretSetting?

    /// True if calls are billed; if nil, calls are billed only with an `account`.
    package var isBillable: Bool?

    package struct Address: Sendable, Hashable {
        package let text: String
        package let port: UInt16
        package var scheme: VendorScheme { text.hasPrefix("https:") ? .https : .http }

        init(reading text: String) throws(Mismatch) {
            do throws(DNSJSONSetupError) {
                port = try DNSJSON(url: text).facts.defaultPort
            } catch {
                throw Mismatch()
            }
            self.text = text
        }

        fileprivate static let example: Address = {
            guard let address = try? Address(reading: "https://dns.alidns.com/resolve") else {
                preconditionFailure("the example is not a URL")
            }
            return address
        }()
    }
}

extension VendorSettings {
    var json: JSONSettings {
        get { if case .json(let settings) = account { settings } else { JSONSettings() } }
        set { account = .json(newValue) }
    }
}

// MARK: - The vendor

extension JSONSettings: VendorAccount {
    static let about = """
        Resolver with a JSON DNS API in the format of Google, such as AliDNS, DNSPod, Google and \
        Cloudflare. Such a resolver resolves all names, with one call for each address family.
        """

    var secrets: [(option: String, secret: SecretSetting?)] { [("secret", secret)] }
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
        .option("url", \.json.url, .jsonURL, required: true, example: .example) {
            """
            URL of the API. The host is the name in the certificate, and is never resolved. The \
            daemon replaces {name} and {type} in the query part by the queried name and type. If \
            the query part lacks {name}, the daemon appends name=; if it lacks {type}, the daemon \
            appends type=.
            """
        },
        VendorSettings.servers(
            standard: nil,
            example: ["223.5.5.5", "223.6.6.6"],
            "Default port: the port of `url`."
        ),
        .option(
            "account",
            \.json.account,
            .account,
            standard: "none; free resolvers need no account",
            example: "100000"
        ) {
            """
            Number (uid) of your AliDNS account, for signed calls. Requires `access-key-id` and \
            `secret`. The signature is not fully documented: test with `httpdnsctl prove`.
            """
        },
        .option("access-key-id", \.json.accessKeyID, .account, example: "100000exampleid") {
            "Public part of the access key (ak) of the AliDNS account."
        },
        .option(
            "secret",
            \.json.secret,
            .secret { secret in
                secret.count > VendorLimits.maximumAccount
                    ? "the secret is longer than \(VendorLimits.maximumAccount) octets" : nil
            },
            example: .example("alidns.secret")
        ) {
            "Secret part of the access key."
        },
        .option(
            "billable",
            \.json.isBillable,
            .boolean,
            standard: "true if `account` is set, else false",
            example: true
        ) {
            "Counts calls as billable in the statistics."
        },
    ]
}

// MARK: - Checks

extension JSONSettings {
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        let parts = ["account", "access-key-id", "secret"]
        let missing = parts.filter { !reading.has("\(path).\($0)") }
        if missing.count < parts.count {
            for option in missing {
                reading.report(
                    reading.place(of: path),
                    "the vendor `\(vendor.name)` needs `\(option)` to sign calls",
                    hint: "set all of `account`, `access-key-id` and `secret`"
                )
            }
        }
        if url?.scheme == .http {
            reading.warn(
                reading.place(of: "\(path).url"),
                "answers over plain HTTP can be read and forged; they are labelled as unprotected",
                hint: "use https://"
            )
        }
    }
}
