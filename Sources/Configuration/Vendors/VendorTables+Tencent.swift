// SPDX-License-Identifier: Apache-2.0
import DNSWire
package import HTTPDNS
package import Net

package struct TencentSettings: Sendable, Equatable {
    package var channel = Tencent.Channel.https
    package var region = Tencent.Region.cn

    /// Required for the channels `aes` and `des`.
    package var id: Int?

    package var token: SecretSetting?

    /// 16 octets for `aes`, 8 octets for `des`.
    package var key: SecretSetting?

    package var clientSubnetForm = Tencent.ClientSubnetForm.encrypted
    package var authExpiry = false

    /// If nil, the certificate must contain the server's IP address.
    package var tlsName: String?

    /// Service that lists server addresses; nil if only `servers` is used.
    package var conf: Conf?

    package struct Conf: Sendable, Equatable {
        package var servers: [SocketAddress] = []
        package var refresh = ClientLimits.addressLifetime
    }
}

extension VendorSettings {
    var tencent: TencentSettings {
        get { if case .tencent(let settings) = account { settings } else { TencentSettings() } }
        set { account = .tencent(newValue) }
    }
}

// MARK: - The vendor

extension TencentSettings: VendorAccount {
    static let about = "Tencent Cloud (DNSPod)."
    var secrets: [(option: String, secret: SecretSetting?)] { [("token", token), ("key", key)] }
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
        .option("channel", \.tencent.channel, .choice()) {
            """
            Protection of calls. `https` uses TLS and a token. `aes` and `des` encrypt calls over \
            plain HTTP, but do not authenticate answers: an attacker on the network path can forge \
            some answers without the key. Therefore all answers are labelled as unprotected. \
            Prefer `https`.
            """
        },
        .option("region", \.tencent.region, .choice()) {
            """
            Edition of the service, which selects the default servers. The international edition \
            supports only the channel des.
            """
        },
        .option("id", \.tencent.id, .integer(1...Int(Int32.max)), example: 12345) {
            "ID of your account, from the vendor's console, for the channels aes and des."
        },
        .option("token", \.tencent.token, .secret, example: .example("tencent.token")) {
            "Token for the channel https, a decimal number."
        },
        .option("key", \.tencent.key, .secret, example: .example("tencent.key")) {
            "Key for the channels aes (16 octets) and des (8 octets)."
        },
        .option("auth-expiry", \.tencent.authExpiry, .boolean) {
            """
            Sends an expiry time with each call, for accounts with the vendor's anti-theft \
            protection. After HTTP status 401, the daemon repeats the call once: without the \
            expiry time if the call had one, otherwise with an expiry time. If this call \
            succeeds, further calls have the same form.
            """
        },
        .option("client-subnet-form", \.tencent.clientSubnetForm, .choice()) {
            """
            Form of `client-subnet` on the channels aes and des: encrypted as documented, or plain \
            as in the vendor's SDKs.
            """
        },
        .option("tls-name", \.tencent.tlsName, .hostName, example: "httpdns.example.com") {
            """
            Host name that the certificate of the servers contains. Without this option, the \
            certificate must contain the IP address of the server.
            """
        },
        VendorSettings.servers(
            standard: "119.29.29.99 and 119.28.28.99 (https); 119.29.29.98 and 119.28.28.98 (aes,"
                + " des); 43.132.55.55 (region international)",
            example: Tencent.Region.cn.servers(for: .https),
            "Default port: 443 for https, 80 for aes and des."
        ),
        .section("conf", \.tencent.conf, confTable, fresh: Conf()) {
            """
            Requests a list of servers from the vendor's start-up servers (service /conf). Use \
            this option if the vendor's support has assigned dedicated servers to your account. \
            After a server of the list has answered a probe (a billed call), this server is called \
            before the servers in the option `servers`. The daemon ignores a server of the list if \
            its address is of another kind (loopback, private or public) than the address of the \
            start-up server.
            """
        },
        VendorSettings.batching(8),
    ]

    private static let confTable = SettingsTable<Conf>(
        .option(
            "servers",
            \.servers,
            .list("servers", of: .server, count: SettingsLimits.servers),
            standard: "the servers in the vendor's SDKs: 119.29.29.89 and 119.28.28.89 (https);"
                + " 119.29.29.88 and 119.28.28.88 (aes, des)",
            example: Tencent.Region.cn.startUpServers(for: .https).compactMap {
                SocketAddress($0, defaultPort: 0)
            }
        ) {
            "IP addresses of the start-up servers."
        },
        .option("refresh", \.refresh, .duration(SettingsLimits.refresh)) {
            """
            Time after which the list is requested again. The daemon requests the list earlier if \
            the validity of the list ends, or if all servers fail.
            """
        }
    )
}

// MARK: - Checks

extension TencentSettings {
    func check(_ vendor: VendorSettings, _ path: String, _ reading: inout SettingsReading) {
        guard !reading.isDamaged("\(path).channel"), !reading.isDamaged("\(path).region") else {
            return
        }
        guard region.channels.contains(channel) else {
            let only = region.channels.map { "`\($0.rawValue)`" }.joined(separator: " or ")
            return reading.report(
                reading.place(of: reading.has("\(path).channel") ? "\(path).channel" : path),
                "the vendor `\(vendor.name)`: the region \(region.rawValue) does not support the"
                    + " channel \(channel.rawValue)",
                hint: "set `channel` to \(only)"
            )
        }
        if let conf, conf.servers.isEmpty, !reading.isDamaged("\(path).conf.servers") {
            reading.report(
                reading.place(of: "\(path).conf"),
                "no servers are documented for the region \(region.rawValue): `conf` needs `servers`",
                hint: "ask the vendor's support team which servers to use"
            )
        }
        checkSecrets(of: vendor.name, path, &reading)
        if channel != .https, reading.has("\(path).token") {
            reading.warn(
                reading.place(of: "\(path).token"),
                "`token` is not used, because `channel` is \(channel.rawValue)",
                hint: "only `httpdnsctl prove` uses it"
            )
        }
        if channel == .aes {
            reading.warn(
                reading.place(of: "\(path).channel"),
                "the channel aes encrypts names, but its answers can be forged; they are labelled"
                    + " as unprotected",
                hint: "set `channel: https`"
            )
        }
        if channel == .des {
            reading.warn(
                reading.place(of: "\(path).channel"),
                "DES can be broken, and its answers can be forged; they are labelled as unprotected"
                    + (region == .cn ? "; set `channel: https`" : "")
            )
        }
    }

    private func checkSecrets(of name: String, _ path: String, _ reading: inout SettingsReading) {
        let needs = channel == .https ? ["token"] : ["id", "key"]
        for option in needs where !reading.has("\(path).\(option)") {
            let hasKey = reading.has("\(path).key")
            reading.report(
                reading.place(of: path),
                "the vendor `\(name)` needs `\(option)` for its channel \(channel.rawValue)",
                hint: option == "token" && hasKey
                    ? "to use `key`, set `channel` to `aes` or `des`" : nil
            )
        }
        if channel == .https {
            guard let token, !token.value.allSatisfy(\.isDigit) else { return }
            reading.report(
                reading.place(of: "\(path).token"),
                "the token is not a decimal number",
                describesSecret: true
            )
        } else if let count = key?.value.count {
            let right = channel == .aes ? 16 : 8
            guard count != right else { return }
            reading.report(
                reading.place(of: "\(path).key"),
                "the key has \(count) octets; the channel \(channel.rawValue) requires exactly"
                    + " \(right)",
                hint: channel == .des && count > right
                    ? "other programs silently use only the first 8 octets: shorten the key to 8 octets"
                    : nil,
                describesSecret: true
            )
        }
    }
}
