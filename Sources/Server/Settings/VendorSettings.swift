// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// An account with a vendor of HTTPDNS, and how it is used.
package struct VendorSettings: Sendable, Equatable {
    /// What routes, logs and counters call it.
    package var name: String

    /// Where it stands in the file.
    package var place: SettingsPlace

    /// Whose protocol it speaks.
    package var kind = VendorKind.tencent

    /// How calls are protected.
    package var channel = Channel.https

    /// The account's id (Tencent's dnsId); the channels `aes` and `des` need it.
    package var id: Int?

    /// The token of the channel `https`: a decimal number.
    package var token: SecretSetting?

    /// The key of the channels `aes` (16 octets) and `des` (8 octets).
    package var key: SecretSetting?

    /// The vendor's servers in the order of preference, each with its port.
    package var servers: [SocketAddress] = []

    /// The client's address that the vendor is told; nil: it sees our own.
    package var clientSubnet: IPAddress?

    /// How `clientSubnet` is told on the channels `aes` and `des`.
    package var clientSubnetForm = ClientSubnetForm.encrypted

    /// How long one call may take.
    package var timeout = Duration.seconds(2)

    /// Failures in a row after which the next server becomes the first choice.
    package var retriesBeforeSwitch = 3

    /// PEM file of the certificates to trust instead of the system's store.
    package var caFile: String?

    /// The versions of HTTP that may be spoken.
    package var http = HTTPVersion.automatic

    /// The name its certificate must carry; nil: the server's IP address.
    package var tlsName: String?

    /// How calls of Tencent's HTTPDNS are protected.
    package enum Channel: String, Sendable, Hashable, CaseIterable {
        case https
        case aes
        case des
    }

    /// The two forms of Tencent's parameter `ip`.
    package enum ClientSubnetForm: String, Sendable, Hashable, CaseIterable {
        /// Encrypted like the name, as the documentation says.
        case encrypted

        /// As it is, as the vendor's SDKs do.
        case plain
    }

    package init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }
}

/// The protocols of vendors.
package enum VendorKind: String, Sendable, Hashable, CaseIterable {
    case tencent
    case alibaba
    case json
    case baidu
    case volcengine

    /// Kinds that a later version will speak.
    static let later: [VendorKind] = [.alibaba, .json, .baidu, .volcengine]
}

// MARK: - Defaults that depend on the channel

extension VendorSettings.Channel {
    /// The port of the channel's servers.
    package var port: UInt16 { self == .https ? 443 : 80 }

    /// The vendor's documented servers.
    package var servers: [SocketAddress] {
        let literals =
            self == .https ? ["119.29.29.99", "119.28.28.99"] : ["119.29.29.98", "119.28.28.98"]
        return literals.compactMap { SocketAddress($0, defaultPort: port) }
    }
}

extension VendorSettings {
    /// Puts servers and ports where the file left them to the channel.
    mutating func completeServers() {
        if servers.isEmpty { servers = channel.servers }
        for index in servers.indices where servers[index].port == 0 {
            servers[index].port = channel.port
        }
    }
}

// MARK: - Table

extension VendorSettings: SettingsEntry {
    static let table = SettingsTable<VendorSettings>(
        .option(
            "kind",
            \.kind,
            .choice(notYet: VendorKind.later),
            required: true,
            """
            Whose protocol the vendor speaks.
            """
        ),
        .option(
            "channel",
            \.channel,
            .choice(),
            """
            How calls are protected: `https` by TLS and a token; `aes` and `des` by encrypting \
            names and answers with a key, over plain HTTP. DES can be broken: prefer the others.
            """
        ),
        .option(
            "id",
            \.id,
            .integer(1...Int.max),
            example: 12345,
            """
            The id of your account, from the vendor's console. The channels aes and des need it.
            """
        ),
        .option(
            "token",
            \.token,
            .secret,
            example: .example("tencent.token"),
            """
            The token of the channel https, a decimal number, kept in a file that other users \
            cannot read, or in a credential of systemd: {credential: NAME}.
            """
        ),
        .option(
            "key",
            \.key,
            .secret,
            example: .example("tencent.key"),
            """
            The key of the channels aes (exactly 16 octets) and des (exactly 8), kept likewise. A \
            newline at the end of the file does not count.
            """
        ),
        .option(
            "servers",
            \.servers,
            .list("servers", of: .server, count: SettingsLimits.servers),
            standard: "119.29.29.99 and 119.28.28.99 for https, 119.29.29.98 and 119.28.28.98"
                + " for aes and des",
            example: VendorSettings.Channel.https.servers,
            """
            The vendor's servers by IP address, the preferred one first. The port is 443 for https \
            and 80 for the others if it is left out.
            """
        ),
        .option(
            "client-subnet",
            \.clientSubnet,
            .ip,
            // 203.0.113.7 (RFC 5737).
            example: .v4(IPv4Address(value: 0xCB00_7107)),
            """
            The address that the vendor chooses answers for, instead of the one it sees the calls \
            come from.
            """
        ),
        .option(
            "client-subnet-form",
            \.clientSubnetForm,
            .choice(),
            """
            How that address is sent on the channels aes and des: encrypted as the documentation \
            says, or plain as the vendor's own programs do.
            """
        ),
        .option(
            "timeout",
            \.timeout,
            .duration(SettingsLimits.timeout),
            """
            How long one call may take. All calls for one question together take at most 3s.
            """
        ),
        .option(
            "retries-before-switch",
            \.retriesBeforeSwitch,
            .integer(SettingsLimits.retries),
            """
            After so many failures in a row the next server becomes the first choice.
            """
        ),
        .option(
            "ca-file",
            \.caFile,
            .certificates,
            example: "/etc/httpdnsd/ca.pem",
            """
            PEM file of the certificates to trust instead of the system's.
            """
        ),
        .option(
            "http",
            \.http,
            .choice(notYet: [.http3]),
            """
            The version of HTTP; `auto` speaks HTTP/2 where the server does, else 1.1.
            """
        ),
        .option(
            "tls-name",
            \.tlsName,
            .hostName,
            example: "httpdns.example.com",
            """
            The name that the certificate of the servers must carry, instead of their IP address.
            """
        ),
        .notYet("return-to-primary-after"),
        .notYet("hedge-after"),
        .notYet("proxy"),
        .notYet("budget"),
        .notYet("conf"),
        .notYet("auth-expiry", unless: "off", "false")
    ).admitting { node, key, reading in
        guard let kind = node["kind"], let text = kind.scalar,
            VendorKind.later.contains(where: { $0.rawValue == text })
        else { return true }
        reading.reportUnsupported(kind.place, "kind: \(text)")
        return false
    }
}

extension SecretSetting {
    /// A secret of the manual's example, of which only the source is shown.
    fileprivate static func example(_ file: String) -> SecretSetting {
        SecretSetting(octets: [], source: .file("/etc/httpdnsd/" + file))
    }
}
