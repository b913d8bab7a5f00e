// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import HTTPDNS
package import Net

/// An account with Tencent Cloud (DNSPod).
package struct TencentSettings: Sendable, Equatable {
    /// How calls are protected.
    package var channel = Tencent.Channel.https

    /// The edition of the service.
    package var region = Tencent.Region.cn

    /// The account's id (the vendor's dnsId); the channels `aes` and `des` need it.
    package var id: Int?

    /// The token of the channel `https`: a decimal number.
    package var token: SecretSetting?

    /// The key of the channels `aes` (16 octets) and `des` (8 octets).
    package var key: SecretSetting?

    /// How the client subnet is told on the channels `aes` and `des`.
    package var clientSubnetForm = Tencent.ClientSubnetForm.encrypted

    /// Whether names carry the second they expire.
    package var authExpiry = false

    /// The name the certificate must carry; nil: the server's IP address.
    package var tlsName: String?

    /// Where the servers to ask are asked for; nil: those in the settings are asked.
    package var conf: Conf?

    package init() {}

    /// The service that tells a channel's servers.
    package struct Conf: Sendable, Equatable {
        /// The start-up servers, each with its port.
        package var servers: [SocketAddress] = []

        /// How long what they said is used at most.
        package var refresh = ClientLimits.addressLifetime

        package init() {}
    }
}

extension VendorSettings {
    /// The account with Tencent; of another kind, the defaults.
    ///
    /// Setting it sets the kind.
    var tencent: TencentSettings {
        get { if case .tencent(let settings) = account { settings } else { TencentSettings() } }
        set { account = .tencent(newValue) }
    }
}

// MARK: - The vendor

extension TencentSettings: VendorAccount {
    static let about = "Tencent Cloud (DNSPod)."

    var secrets: [(option: String, secret: SecretSetting?)] {
        [("token", token), ("key", key)]
    }

    var channelName: String { channel.rawValue }

    var usesTLS: Bool { channel == .https }

    var documentedServers: [String] { region.servers(for: channel) }

    mutating func complete(servers: [SocketAddress]) {
        guard var conf else { return }
        if conf.servers.isEmpty {
            conf.servers = region.startUpServers(for: channel).compactMap {
                SocketAddress($0, defaultPort: port)
            }
        }
        for index in conf.servers.indices where conf.servers[index].port == 0 {
            conf.servers[index].port = port
        }
        self.conf = conf
    }

    func vendor() throws -> any Vendor {
        switch channel {
        case .https:
            guard let token else { throw TencentSetupError.token }
            return try Tencent(
                token: token.value,
                id: id,
                tlsName: tlsName.flatMap { try? Name($0) },
                expires: authExpiry
            )
        case .aes, .des:
            guard let key, let id else { throw TencentSetupError.id }
            return try Tencent(
                key: key.value,
                id: id,
                algorithm: channel,
                clientSubnetForm: clientSubnetForm,
                expires: authExpiry
            )
        }
    }

    func source(servers: [SocketAddress]) -> VendorClient.AddressSource? {
        conf.map { VendorClient.AddressSource(servers: $0.servers, refresh: $0.refresh) }
    }
}

// MARK: - Options

extension TencentSettings {
    static let options: [SettingsOption<VendorSettings>] = [
        .option(
            "channel",
            \.tencent.channel,
            .choice(),
            """
            How calls are protected: `https` by TLS and a token; `aes` and `des` by encrypting \
            names and answers with a key, over plain HTTP. These two hide names but do not \
            authenticate answers: somebody on the way can forge some without the key, so that \
            answers are labelled as unprotected. DES can also be broken. Prefer `https`.
            """
        ),
        .option(
            "region",
            \.tencent.region,
            .choice(),
            """
            The edition of the service, which decides about the servers. The international one \
            has only the channel des.
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
            "auth-expiry",
            \.tencent.authExpiry,
            .boolean,
            """
            Whether calls carry a time after which they are worth nothing, as accounts with \
            protection against theft want it. If the vendor refuses one form with 401, the other \
            one is tried once, and kept if it is accepted.
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
        VendorSettings.servers(
            standard: "119.29.29.99 and 119.28.28.99 for https, 119.29.29.98 and 119.28.28.98"
                + " for aes and des, 43.132.55.55 for region international",
            example: Tencent.Region.cn.servers(for: .https),
            "The port is 443 for https and 80 for the others if it is left out."
        ),
        .section(
            "conf",
            \.tencent.conf,
            confTable,
            fresh: Conf(),
            """
            Asks the vendor's service /conf which servers to ask; they are asked before those of \
            `servers`. Servers in another kind of network than those that name them are left out: \
            a service on the Internet names none of your own network. For customers to whom the \
            vendor's support has named start-up servers.
            """
        ),
        VendorSettings.batching(8),
    ]

    private static let confTable = SettingsTable<Conf>(
        .option(
            "servers",
            \.servers,
            .list("servers", of: .server, count: SettingsLimits.servers),
            standard: "those built into the vendor's kits: 119.29.29.89 and 119.28.28.89 for"
                + " https, 119.29.29.88 and 119.28.28.88 for aes and des",
            example: Tencent.Region.cn.startUpServers(for: .https).compactMap {
                SocketAddress($0, defaultPort: 0)
            },
            """
            The start-up servers by IP address.
            """
        ),
        .option(
            "refresh",
            \.refresh,
            .duration(SettingsLimits.refresh),
            """
            They are asked again after so long, or sooner if they say so; also when all servers \
            fail.
            """
        )
    )
}

// MARK: - Checks

extension TencentSettings {
    /// The id, token and key fit the channel, and the channel fits the region.
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        guard !reading.isDamaged("\(path).channel"), !reading.isDamaged("\(path).region") else {
            return
        }
        guard region.channels.contains(channel) else {
            let only = region.channels.map { "`\($0.rawValue)`" }.joined(separator: " or ")
            return reading.report(
                reading.place(of: reading.has("\(path).channel") ? "\(path).channel" : path),
                "the region \(region.rawValue) has no channel \(channel.rawValue)",
                hint: "say `channel:` \(only)"
            )
        }
        if let conf, conf.servers.isEmpty, !reading.isDamaged("\(path).conf.servers") {
            reading.report(
                reading.place(of: "\(path).conf"),
                "`conf` needs `servers` in the region \(region.rawValue)",
                hint: "the vendor's support names them"
            )
        }
        checkSecrets(of: vendor.name, path, &reading)
        if channel == .aes {
            reading.warn(
                reading.place(of: "\(path).channel"),
                "the channel aes hides names, but its answers can be forged; they are labelled as"
                    + " unprotected",
                hint: "say `channel: https`"
            )
        }
        if channel == .des {
            reading.warn(
                reading.place(of: "\(path).channel"),
                "DES can be broken, and its answers can be forged; they are labelled as unprotected"
                    + (region == .cn ? ": prefer the channel `https`" : "")
            )
        }
    }

    /// The channel has what proves the account, in the right form.
    private func checkSecrets(
        of name: String,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let needs = channel == .https ? ["token"] : ["id", "key"]
        for option in needs where !reading.has("\(path).\(option)") {
            let hasKey = reading.has("\(path).key")
            reading.report(
                reading.place(of: path),
                "the vendor `\(name)` needs `\(option)` for its channel \(channel.rawValue)",
                hint: option == "token" && hasKey ? "with a key its channel is `aes` or `des`" : nil
            )
        }
        if channel == .https {
            guard let token, !token.value.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return
            }
            reading.report(
                reading.place(of: "\(path).token"),
                "the token is not a decimal number"
            )
        } else if let count = key?.value.count {
            let right = channel == .aes ? 16 : 8
            guard count != right else { return }
            reading.report(
                reading.place(of: "\(path).key"),
                "the key has \(count) octets; the channel \(channel.rawValue) takes exactly"
                    + " \(right)",
                hint: channel == .des && count > right
                    ? "of longer keys others silently use the first 8 octets: keep only those"
                    : nil
            )
        }
    }
}
