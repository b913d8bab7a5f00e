// SPDX-License-Identifier: Apache-2.0
package import HTTPDNS
internal import Net

/// Settings of an Alibaba Cloud account (EMAS HTTPDNS).
package struct AlibabaSettings: Sendable, Equatable {
    package var account = ""

    /// If nil, calls are not signed.
    package var secret: SecretSetting?

    package var aesKey: SecretSetting?
    package var api = Alibaba.API.v2
    package var encryption = Alibaba.Encryption.none
    package var scheme = VendorScheme.https

    /// If nil, the certificate must contain one of the vendor's own names.
    package var tlsName: String?

    package var region = Alibaba.Region.cn

    /// If nil, addresses are requested from the vendor only if `servers` is not set.
    package var schedule: Bool?

    /// Parameters of custom resolution, without the prefix `sdns-`.
    package var sdns: [String: String] = [:]
}

extension VendorSettings {
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
        return VendorClient.AddressSource(
            servers: servers,
            refresh: Alibaba.scheduleRefresh(usesTLS: usesTLS)
        )
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
            standard: "none: calls are not signed, and the account must permit unsigned calls",
            example: .example("alibaba.secret")
        ) {
            "Key that signs calls, in hexadecimal digits as shown in the console."
        },
        .option(
            "aes-key",
            \.alibaba.aesKey,
            .secret { key in
                complaint { () throws(AlibabaSetupError) in
                    _ = try Alibaba(account: "0", aesKey: key, encryption: .cbc)
                }
            },
            example: .example("alibaba.aes")
        ) {
            "Key for `encryption`, 32 hexadecimal digits."
        },
        .option("api", \.alibaba.api, .choice()) {
            "API version. v1 is the historical version; only v2 supports `encryption`."
        },
        .option("encryption", \.alibaba.encryption, .choice(), example: .gcm) {
            """
            Encryption of names and answers by the vendor's protocol, inside TLS or plain http. \
            `gcm` encrypts and authenticates names and answers; `cbc` only encrypts names and \
            answers.
            """
        },
        VendorSettings.scheme(
            \.alibaba.scheme,
            """
            Over plain http, an attacker on the network path can forge answers. With `encryption: \
            gcm`, the attacker cannot forge answers, but can replay an older reply for the same \
            name.
            """
        ),
        .option(
            "tls-name",
            \.alibaba.tlsName,
            .certificateName,
            standard: Alibaba.tlsNames.joined(separator: ", or ")
                + " if TLS fails with the first name (the vendor documents both)",
            example: Alibaba.tlsNames[0]
        ) {
            "Host name or IP address in the certificate of the servers."
        },
        .option("region", \.alibaba.region, .choice()) {
            "Region of your users, which selects the default servers."
        },
        VendorSettings.servers(
            standard: "the documented start-up servers of the region",
            example: Array(Alibaba.Region.cn.defaultServers.prefix(2)),
            "Default port: 443 for https, 80 for http."
        ),
        .option(
            "schedule",
            \.alibaba.schedule,
            .boolean,
            standard: "true, or false if `servers` is set",
            example: true
        ) {
            """
            Requests a list of nearby servers from the vendor's scheduling service, which has the \
            addresses in the option `servers`. The daemon requests the list every 8 hours (over \
            http: every 10 minutes), and when all servers fail. After a server of the list has \
            answered a probe (a billed call), this server is called before the servers in the \
            option `servers`. The daemon ignores a server of the list if its address is of another \
            kind (loopback, private or public) than the address of the server that sent the list. \
            Over http, the daemon uses a server of the list only if its port is the default port, \
            or the port of the server that sent the list. The request is signed if `secret` is set.
            """
        },
        .option("sdns", \.alibaba.sdns, .sdns) {
            """
            Parameters of Alibaba's custom resolution, {NAME: VALUE}. The daemon adds the \
            prefix sdns-.
            """
        },
        VendorSettings.batching(5),
        .section("billing", \.billing, billingTable, fresh: BillingSettings()) {
            """
            Access key of a RAM user with one permission: to read Alibaba's counts of EMAS HTTPDNS \
            resolutions. With this key, `httpdnsctl bill` also shows Alibaba's count of the \
            current month. The daemon uses the key only for this purpose. Requests go to \
            httpdns-api.aliyuncs.com over https, at most one per minute. This option was not \
            tested with a real account.
            """
        },
    ]

    private static let billingTable = SettingsTable<BillingSettings>(
        .option(
            "access-key-id",
            \.accessKeyID,
            .secret(accessKeyComplaint),
            required: true,
            example: .example("alibaba.access-key-id")
        ) {
            "Identifier of the key."
        },
        .option(
            "access-key-secret",
            \.accessKeySecret,
            .secret(accessKeyComplaint),
            required: true,
            example: .example("alibaba.access-key-secret")
        ) { "Secret of the key." }
    )

    private static func accessKeyComplaint(_ key: Secret) -> String? {
        let isUsable =
            (1...VendorLimits.maximumAccount).contains(key.count)
            && key.allSatisfy { (0x21...0x7E).contains($0) }
        return isUsable
            ? nil : "must be 1 to \(VendorLimits.maximumAccount) visible ASCII characters"
    }
}

// MARK: - Checks

extension AlibabaSettings {
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        let isDamaged = ["api", "encryption", "scheme"].contains { option in
            reading.isDamaged("\(path).\(option)")
        }
        guard !isDamaged else { return }
        if encryption != .none, api == .v1 {
            reading.report(
                reading.place(of: "\(path).encryption"),
                "only API v2 supports encryption",
                hint: "remove `api: v1`, or set `encryption: none`"
            )
        } else if encryption != .none, !reading.has("\(path).aes-key") {
            reading.report(
                reading.place(of: path),
                "the vendor `\(vendor.name)` needs `aes-key` for encryption"
                    + " \(encryption.rawValue)"
            )
        }
        if encryption == .none, reading.has("\(path).aes-key") {
            reading.warn(
                reading.place(of: "\(path).aes-key"),
                "`aes-key` is not used, because `encryption` is none",
                hint: "set `encryption: gcm`"
            )
        }
        if !isProtected {
            reading.warn(
                reading.place(of: "\(path).scheme"),
                "answers over plain HTTP can be forged; they are labelled as unprotected",
                hint: "set `scheme: https` or `encryption: gcm`"
            )
        }
        Self.check(sdns: sdns, path, &reading)
    }

    static func check(sdns: [String: String], _ path: String, _ reading: inout SettingsReading) {
        let all = complaint { () throws(AlibabaSetupError) in
            _ = try Alibaba(account: "0", parameters: sdns)
        }
        if let all { reading.report(reading.place(of: "\(path).sdns"), "`sdns`: \(all)") }
    }
}

extension SettingsKind where Value == [String: String] {
    static var sdns: SettingsKind {
        .parameters { name, value in
            complaint { () throws(AlibabaSetupError) in
                _ = try Alibaba(account: "0", parameters: [name: value])
            }
        }
    }
}
