// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS
internal import Net

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

    /// The name or IP address the certificate must carry; nil: either of the documented ones.
    package var tlsName: String?

    /// Where the account's users are.
    package var region = Alibaba.Region.cn

    /// Whether the servers to ask are asked for; nil: unless the file names them.
    package var schedule: Bool?

    /// The parameters of custom resolution, by names without `sdns-`.
    package var sdns: [String: String] = [:]

    package init() {}
}

extension VendorSettings {
    /// The account with Alibaba; of another kind, the defaults.
    ///
    /// Setting it sets the kind.
    var alibaba: AlibabaSettings {
        get { if case .alibaba(let settings) = account { settings } else { AlibabaSettings() } }
        set { account = .alibaba(newValue) }
    }
}

// MARK: - The vendor

extension AlibabaSettings: VendorAccount {
    static let about = "Alibaba Cloud (EMAS HTTPDNS)."

    var secrets: [(option: String, secret: SecretSetting?)] {
        [("secret", secret), ("aes-key", aesKey)]
    }

    var channelName: String {
        api.rawValue + " " + (encryption == .none ? scheme.rawValue : encryption.rawValue)
    }

    var usesTLS: Bool { scheme == .https }

    var isProtected: Bool { usesTLS || encryption == .gcm }

    var documentedServers: [String] { region.defaultServers }

    mutating func complete(servers: [SocketAddress]) {
        if schedule == nil { schedule = servers.isEmpty }
    }

    func vendor() throws -> any Vendor {
        try Alibaba(
            account: account,
            secret: secret?.value,
            aesKey: aesKey?.value,
            api: api,
            encryption: encryption,
            usesTLS: usesTLS,
            tlsName: tlsName,
            region: region,
            parameters: sdns
        )
    }

    func source(servers: [SocketAddress]) -> VendorClient.AddressSource? {
        guard schedule == true else { return nil }
        return VendorClient.AddressSource(servers: servers, refresh: Alibaba.scheduleRefresh)
    }
}

// MARK: - Options

extension AlibabaSettings {
    static let options: [SettingsOption<VendorSettings>] = [
        VendorSettings.account(\.alibaba.account),
        .option(
            "secret",
            \.alibaba.secret,
            .secret { secret in
                complaint { () throws(AlibabaSetupError) in
                    _ = try Alibaba(account: "0", secret: secret)
                }
            },
            standard: "none, which the account must allow",
            example: .example("alibaba.secret"),
            """
            The key that signs calls, in hexadecimal digits as the console shows it, kept in a \
            file that other users cannot read, or in a credential of systemd: {credential: NAME}.
            """
        ),
        .option(
            "aes-key",
            \.alibaba.aesKey,
            .secret { key in
                complaint { () throws(AlibabaSetupError) in
                    _ = try Alibaba(account: "0", aesKey: key, encryption: .cbc)
                }
            },
            example: .example("alibaba.aes"),
            """
            The key for `encryption`, exactly 32 hexadecimal digits, kept likewise.
            """
        ),
        .option(
            "api",
            \.alibaba.api,
            .choice(),
            """
            The generation of the API. The vendor calls v1 history; only v2 can be encrypted.
            """
        ),
        .option(
            "encryption",
            \.alibaba.encryption,
            .choice(),
            example: .gcm,
            """
            How names and answers are encrypted, beyond TLS: `gcm` hides them and shows whether \
            they were changed, `cbc` only hides them.
            """
        ),
        VendorSettings.scheme(
            \.alibaba.scheme,
            "Plain http is safe only with `encryption: gcm`."
        ),
        .option(
            "tls-name",
            \.alibaba.tlsName,
            .certificateName,
            standard: "either of the two that the vendor documents, "
                + Alibaba.tlsNames.joined(separator: " and "),
            example: Alibaba.tlsNames[0],
            """
            The name or IP address that the certificate of the servers must carry.
            """
        ),
        .option(
            "region",
            \.alibaba.region,
            .choice(),
            """
            Where your users are, which decides about the servers.
            """
        ),
        VendorSettings.servers(
            standard: "the start-up servers that the vendor documents for the region",
            example: Array(Alibaba.Region.cn.defaultServers.prefix(2)),
            "The port is 443 for https and 80 for http if it is left out."
        ),
        .option(
            "schedule",
            \.alibaba.schedule,
            .boolean,
            standard: "true, and false with `servers`",
            example: true,
            """
            Whether these servers are asked, every eight hours and when all fail, which servers \
            are near; those are then asked before them, unless they are in another kind of network, \
            or over http at an unusual port. Signed if there is a `secret`.
            """
        ),
        .option(
            "sdns",
            \.alibaba.sdns,
            .parameters { name, value in
                complaint { () throws(AlibabaSetupError) in
                    _ = try Alibaba(account: "0", parameters: [name: value])
                }
            },
            """
            Parameters of custom resolution, {NAME: VALUE}, by their names without sdns-.
            """
        ),
        VendorSettings.batching(5),
    ]
}

// MARK: - Checks

extension AlibabaSettings {
    /// Encryption has its key and its API, and plain HTTP is encrypted.
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        let isDamaged = ["api", "encryption", "scheme"].contains { option in
            reading.isDamaged("\(path).\(option)")
        }
        guard !isDamaged else { return }
        if encryption != .none, api == .v1 {
            reading.report(
                reading.place(of: "\(path).encryption"),
                "only the API v2 can be encrypted",
                hint: "leave `api: v1` out, or say `encryption: none`"
            )
        } else if encryption != .none, !reading.has("\(path).aes-key") {
            reading.report(
                reading.place(of: path),
                "the vendor `\(vendor.name)` needs `aes-key` for its encryption"
                    + " \(encryption.rawValue)"
            )
        }
        if encryption == .none, reading.has("\(path).aes-key") {
            reading.warn(
                reading.place(of: "\(path).aes-key"),
                "the key is not used, as nothing is encrypted",
                hint: "say `encryption: gcm`"
            )
        }
        if !isProtected {
            reading.warn(
                reading.place(of: "\(path).scheme"),
                "over plain HTTP others can forge answers, which are labelled as unprotected",
                hint: "say `scheme: https` or `encryption: gcm`"
            )
        }
        let all = complaint { () throws(AlibabaSetupError) in
            _ = try Alibaba(account: "0", parameters: sdns)
        }
        if let all { reading.report(reading.place(of: "\(path).sdns"), "`sdns`: \(all)") }
    }
}
