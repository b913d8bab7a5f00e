// SPDX-License-Identifier: Apache-2.0
internal import HTTPDNS
package import Net

/// Settings of the fleet: the machines that share the answers of vendors.
package struct FleetSettings: Sendable, Equatable {
    /// Redis servers; empty if `sentinel` is set.
    package var servers: [SocketAddress] = []

    package var sentinel: Sentinel?
    package var tls = false

    /// Name in the server's certificate; nil for the server's IP address.
    package var tlsName: String?

    package var caFile: String?
    package var user: String?
    package var password: SecretSetting?

    /// Required; nil in checked settings means that `--check` could not read the credential.
    package var secret: SecretSetting?

    /// Machines of one group share answers.
    package var group = Self.automatic

    package static let automatic = "auto"
    package var wait = Duration.milliseconds(50)
    package var timeout = Duration.milliseconds(10)

    /// If nil, the host name.
    package var name: String?

    package enum BudgetScope: String, Sendable, Hashable, CaseIterable {
        case own

        case shared
    }

    package var budget = BudgetScope.own

    package struct Sentinel: Sendable, Equatable {
        package var servers: [SocketAddress] = []
        package var master = "mymaster"
    }

    /// Nil if the group is `auto`.
    package var groupName: String? { group == Self.automatic ? nil : group }

    var secrets: [(option: String, secret: SecretSetting?)] {
        [("password", password), ("secret", secret)]
    }
}

// MARK: - Tables

extension FleetSettings {
    static let standardPort: UInt16 = 6_379
    static let table = SettingsTable<FleetSettings>(
        .option(
            "servers",
            \.servers,
            .list(
                "addresses, each with an optional port",
                of: .address(defaultPort: standardPort),
                count: SettingsLimits.fleetServers
            ),
            example: ["192.0.2.10:6379"].compactMap { SocketAddress($0) }
        ) {
            """
            IP addresses of the Redis or Valkey server and its replicas, in the order \
            of connection attempts. Servers that accept no writes are skipped.
            """
        },
        .section("sentinel", \.sentinel, Sentinel.table, fresh: Sentinel(), isExample: true) {
            """
            Sentinels that report the current master, instead of `servers`. The daemon queries the \
            Sentinels for each new connection. The Sentinels must report IP addresses, not names.
            """
        },
        .option("tls", \.tls, .boolean) {
            """
            Uses TLS to the Redis server and to Sentinels. Without TLS, an attacker on the network \
            path can read `password`. Shared answers are encrypted and authenticated even without \
            TLS.
            """
        },
        .option(
            "tls-name",
            \.tlsName,
            .certificateName,
            standard: "the address of the server",
            example: "redis.example.com"
        ) {
            "Host name or IP address in the certificate of the Redis server."
        },
        .option("ca-file", \.caFile, .certificates, example: "/etc/httpdnsd/ca.pem") {
            "PEM file of trusted CA certificates, instead of those of the system."
        },
        .option(
            "user",
            \.user,
            .name(of: "the name of a user"),
            standard: "the Redis user `default`",
            example: "httpdnsd"
        ) {
            "Name of a user of the Redis server (ACL)."
        },
        .option("password", \.password, .secret, example: .example("fleet.password")) {
            "Password of the user."
        },
        .option(
            "secret",
            \.secret,
            .secret { secret in
                SettingsLimits.fleetSecretOctets.contains(secret.count)
                    ? nil
                    : "the secret must have \(SettingsLimits.fleetSecretOctets.lowerBound) to "
                        + "\(SettingsLimits.fleetSecretOctets.upperBound) octets"
            },
            required: true,
            example: .example("fleet.secret")
        ) {
            """
            Secret of the fleet, the same on all machines: 32 octets or more, such as the output \
            of `openssl rand -base64 48`. The secret encrypts and authenticates keys and values: \
            the Redis server cannot read keys or values. Machines with different secrets share \
            nothing.
            """
        },
        .option("group", \.group, .name(of: "`auto` or the name of a group")) {
            """
            Machines that share answers. `auto`: machines whose client addresses in the vendor's \
            replies are in the same /24 (IPv4) or /48 (IPv6). A machine shares nothing before the \
            first reply. Any other name is a group that you choose: give the same name to machines \
            in the same network. For vendors that report no client address (kind json), choose a \
            name.
            """
        },
        .option("wait", \.wait, .duration(SettingsLimits.fleetWait)) {
            """
            Maximum time that a client waits for the call of another machine. After this time, \
            this machine also calls the vendor.
            """
        },
        .option("timeout", \.timeout, .duration(SettingsLimits.fleetTimeout)) {
            """
            Time limit for one reply of the Redis server. After three consecutive timeouts, \
            clients no longer wait for the Redis server. They wait again after this server has \
            answered a probe in time.
            """
        },
        .option(
            "name",
            \.name,
            .name(of: "a name"),
            standard: "the host name",
            example: "web-7"
        ) {
            "Name of this machine, which other machines show as the source of its answers."
        },
        .option("budget", \.budget, .choice()) {
            """
            `own`: each machine can spend the whole `budget` of a vendor. `shared`: all machines \
            with the same vendor name and account share one budget; each machine claims parts of \
            this budget in advance. While a machine cannot reach the Redis server, the machine can \
            spend its claims and an equal part of the unclaimed budget: the unclaimed budget \
            divided by the last known number of machines. In total, the machine can spend at least \
            the whole budget divided by this number. A machine that has never reached the Redis \
            server can spend the whole budget.
            """
        }
    )
}

extension FleetSettings.Sentinel {
    static let table = SettingsTable<FleetSettings.Sentinel>(
        .option(
            "servers",
            \.servers,
            .list(
                "addresses, each with an optional port",
                of: .address(defaultPort: 26_379),
                count: SettingsLimits.fleetServers
            ),
            required: true,
            example: ["192.0.2.11:26379", "192.0.2.12:26379"].compactMap { SocketAddress($0) }
        ) {
            "IP addresses of the Sentinels."
        },
        .option("master", \.master, .name(of: "the name of a master")) {
            "Name of the master in the settings of the Sentinels."
        }
    )
}

// MARK: - Checks

extension Settings {
    func checkFleet(_ reading: inout SettingsReading) {
        guard let fleet, !reading.isDamaged("fleet") else { return }
        let place = reading.place(of: "fleet")
        let areServersRead = !reading.isDamaged("fleet.servers")
        if fleet.servers.isEmpty, fleet.sentinel == nil, areServersRead {
            reading.report(
                place,
                "`fleet` has neither `servers` nor `sentinel`",
                hint: "set one of them, such as servers: [\"192.0.2.10:6379\"]"
            )
        }
        if !fleet.servers.isEmpty, fleet.sentinel != nil {
            reading.report(
                reading.place(of: "fleet.sentinel"),
                "`fleet` has both `servers` and `sentinel`",
                hint: "remove `servers`: `sentinel` finds the Redis server"
            )
        }
        if fleet.user != nil, !reading.has("fleet.password") {
            reading.report(reading.place(of: "fleet.user"), "`fleet.user` needs `fleet.password`")
        }
        for option in ["tls-name", "ca-file"] where reading.has("fleet.\(option)") && !fleet.tls {
            reading.warn(
                reading.place(of: "fleet.\(option)"),
                "`\(option)` has no effect without `tls: on`"
            )
        }
        if !routes.contains(where: { $0.isShared && !$0.vendors.isEmpty }) {
            reading.warn(place, "nothing is shared: no route has both `vendors` and `share: on`")
        }
        guard fleet.groupName == nil else { return }
        let silent = vendors.filter { !$0.account.kind.reportsClientAddress }.map(\.name)
        let shared = Set(routes.filter(\.isShared).flatMap(\.vendors))
        for name in silent where shared.contains(name) {
            reading.warn(
                reading.place(of: "fleet.group"),
                "answers of the vendor `\(name)` are not shared with other machines: the vendor "
                    + "does not report the client address",
                hint: "set the same `group` on all machines of a network, such as group: office"
            )
        }
    }
}

extension VendorKind {
    /// True if replies contain the client address that the vendor saw.
    var reportsClientAddress: Bool {
        switch self {
        case .tencent, .alibaba, .baidu, .volcengine: true
        case .json: false
        }
    }
}
