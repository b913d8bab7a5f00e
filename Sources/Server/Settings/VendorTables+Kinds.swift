// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS

// The options that vendors of one kind have and others do not, or not in the same sense.

extension VendorSettings {
    static let tencentOptions: [SettingsOption<VendorSettings>] = [
        .option(
            "channel",
            \.tencent.channel,
            .choice(),
            """
            How calls are protected: `https` by TLS and a token; `aes` and `des` by encrypting \
            names and answers with a key, over plain HTTP. DES can be broken: prefer the others.
            """
        ),
        .option(
            "id",
            \.tencent.id,
            .integer(1...Int(Int32.max)),
            example: 12345,
            """
            The id of your account, from the vendor's console. The channels aes and des need it.
            """
        ),
        .option(
            "token",
            \.tencent.token,
            .secret,
            example: .example("tencent.token"),
            """
            The token of the channel https, a decimal number, kept in a file that other users \
            cannot read, or in a credential of systemd: {credential: NAME}.
            """
        ),
        .option(
            "key",
            \.tencent.key,
            .secret,
            example: .example("tencent.key"),
            """
            The key of the channels aes (exactly 16 octets) and des (exactly 8), kept likewise. A \
            newline at the end of the file does not count.
            """
        ),
        .option(
            "client-subnet-form",
            \.tencent.clientSubnetForm,
            .choice(),
            """
            How the `client-subnet` is sent on the channels aes and des: encrypted as the \
            documentation says, or plain as the vendor's own programs do.
            """
        ),
        .option(
            "tls-name",
            \.tencent.tlsName,
            .hostName,
            example: "httpdns.example.com",
            """
            The name that the certificate of the servers must carry, instead of their IP address.
            """
        ),
        servers(
            standard: "119.29.29.99 and 119.28.28.99 for https, 119.29.29.98 and 119.28.28.98"
                + " for aes and des",
            example: Tencent.Channel.https.defaultServers,
            "The port is 443 for https and 80 for the others if it is left out."
        ),
        .notYet("conf"),
        .notYet("auth-expiry", unless: "off", "false"),
    ]

    static let alibabaOptions: [SettingsOption<VendorSettings>] = [
        account(\.alibaba.account),
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
        scheme(\.alibaba.scheme, "Plain http is safe only with `encryption: gcm`."),
        .option(
            "tls-name",
            \.alibaba.tlsName,
            .certificateName,
            """
            The name or IP address that the certificate of the servers must carry. Some servers \
            have 203.107.1.1 in it.
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
        servers(
            standard: "those that the vendor documents for the region",
            example: Array(Alibaba.Region.cn.defaultServers.prefix(2)),
            "The port is 443 for https and 80 for http if it is left out."
        ),
        .notYet("schedule", unless: "off", "false"),
    ]

    static let jsonOptions: [SettingsOption<VendorSettings>] = [
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
        servers(
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

    static let baiduOptions: [SettingsOption<VendorSettings>] = [
        account(\.baidu.account),
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
            signingSecretDoc
        ),
        scheme(\.baidu.scheme, "Over plain http others can read and forge answers."),
        .option("tls-name", \.baidu.tlsName, .certificateName, certificateDoc),
        servers(
            standard: "those that the vendor documents",
            example: Baidu.defaultServers,
            "The port is 443 for https and 80 for http if it is left out."
        ),
    ]

    static let volcengineOptions: [SettingsOption<VendorSettings>] = [
        account(\.volcengine.account),
        .option(
            "secret",
            \.volcengine.secret,
            .secret { secret in
                complaint { () throws(AccountError) in
                    _ = try Volcengine(account: "0", secret: secret)
                }
            },
            required: true,
            example: .example("volcengine.secret"),
            signingSecretDoc
        ),
        scheme(\.volcengine.scheme, "Over plain http others can read and forge answers."),
        .option("tls-name", \.volcengine.tlsName, .certificateName, certificateDoc),
        servers(
            standard: nil,
            example: ["192.0.2.1"],
            "The vendor tells them on request. The port is 443 for https and 80 for http if it is"
                + " left out."
        ),
    ]
}

// MARK: - Rows of several kinds

extension VendorSettings {
    private static let signingSecretDoc = """
        The key that signs calls, kept in a file that other users cannot read, or in a credential \
        of systemd: {credential: NAME}.
        """

    private static let certificateDoc = """
        The name or IP address that the certificate of the servers must carry.
        """

    /// The row of the account's number.
    private static func account(
        _ path: any WritableKeyPath<VendorSettings, String> & Sendable
    ) -> SettingsOption<VendorSettings> {
        .option(
            "account",
            path,
            .account,
            required: true,
            example: "100000",
            """
            The number of your account, from the vendor's console.
            """
        )
    }

    /// The row of the scheme.
    private static func scheme(
        _ path: any WritableKeyPath<VendorSettings, VendorScheme> & Sendable,
        _ warning: String
    ) -> SettingsOption<VendorSettings> {
        .option("scheme", path, .choice(), "What calls travel over. " + warning)
    }
}

extension JSONSettings.Address {
    /// The URL of the manual's example.
    fileprivate static let example: JSONSettings.Address = {
        guard let address = try? JSONSettings.Address(reading: "https://dns.alidns.com/resolve")
        else { preconditionFailure("the example is no URL") }
        return address
    }()
}
