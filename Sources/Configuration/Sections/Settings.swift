// SPDX-License-Identifier: Apache-2.0
package import Control
package import DNSWire
package import Net

package struct Settings: Sendable, Equatable {
    package static let defaultListen = ["127.0.0.1:53", "[::1]:53"].compactMap { SocketAddress($0) }

    package var listen = Self.defaultListen

    /// True if no file sets `listen`; then the daemon starts even if the machine lacks a default
    /// address.
    package var listenMark = DefaultMark(isDefault: true)

    package var allow = ["127.0.0.0/8", "::1/128"].compactMap { IPPrefix($0) }

    /// Nil for no limit.
    package var rateLimit: RateLimitSettings? = RateLimitSettings()

    /// Number of threads for each address; nil: one per CPU core.
    package var workers: Int?
    package var accelerate = AccelerateSettings()
    package var vendors: [VendorSettings] = []
    package var routes: [RouteSettings] = []
    package var upstreams: [UpstreamSettings] = []

    package var fleet: FleetSettings?

    package var nat64 = NAT64Setting.automatic
    package var dns64 = DNS64Setting.vendors
    package var portal = PortalSetting.automatic
    package var hosts = HostsSettings()
    package var cache = CacheSettings()
    package var answers = AnswerSettings()
    package var rebinding = RebindingSettings()
    package var control = ControlSettings()
    package var metrics = MetricsSettings()
    package var log = LogSettings()
    package var warnings: [SettingsComplaint] = []
}

/// Flag that a comparison of settings ignores: the operator `==` is true for any two flags.
package struct DefaultMark: Sendable, Equatable {
    package var isDefault: Bool
    package static func == (left: DefaultMark, right: DefaultMark) -> Bool { true }
}

// MARK: - Reading

extension Settings {
    /// Reads a file, its drop-ins and their secrets; reports all errors.
    package static func load(
        file: String,
        environment: SettingsEnvironment = .process
    ) throws(SettingsErrors) -> Settings {
        let main = SettingsFile(reading: file)
        return try Settings(
            parsing: [main] + SettingsFile.dropIns(of: file, after: main.size),
            environment: environment
        )
    }

    /// Reads `text` in place of `file`, with the drop-ins of `file`.
    package static func load(
        _ text: String,
        named name: String,
        insteadOf file: String
    ) throws(SettingsErrors) -> Settings {
        let main = SettingsFile(name: name, octets: [UInt8](text.utf8))
        return try Settings(
            parsing: [main] + SettingsFile.dropIns(of: file, after: main.size),
            environment: .reload
        )
    }

    package init(
        parsing text: String,
        fileName: String,
        environment: SettingsEnvironment = .process
    ) throws(SettingsErrors) {
        try self.init(parsing: [UInt8](text.utf8), fileName: fileName, environment: environment)
    }

    /// Reads octets, which can be invalid UTF-8.
    package init(
        parsing octets: [UInt8],
        fileName: String,
        environment: SettingsEnvironment = .process
    ) throws(SettingsErrors) {
        let file = SettingsFile(name: fileName, octets: octets)
        try self.init(parsing: [file], environment: environment)
    }

    /// Each file overrides and extends earlier files.
    init(parsing files: [SettingsFile], environment: SettingsEnvironment) throws(SettingsErrors) {
        self.init()
        var reading = SettingsReading(files: files.map(\.name), environment: environment)
        var isWhole = true
        for (index, file) in files.enumerated() {
            let text = file.text(index) { item in
                routes.take(item, &reading)
                return nil
            }
            checkAccess(to: file.name, index, of: files[0].name, &reading)
            if file.isMisnamed {
                reading.warn(
                    YAMLPlace(file: index, line: 0, column: 0),
                    "the file is ignored, because its name does not end in \(SettingsFile.suffix)",
                    hint: "rename the file"
                )
            }
            for complaint in text.complaints {
                reading.report(complaint.place, complaint.message, hint: complaint.hint)
            }
            isWhole = isWhole && (text.complaints.isEmpty || text.root != nil)
            if let root = text.root {
                Self.table.read(root, as: SettingsKey(), into: &self, &reading)
            }
        }
        listenMark.isDefault = !reading.has("listen")
        for index in vendors.indices { vendors[index].completeServers() }
        if isWhole { check(&reading) }
        if let errors = reading.errors { throw errors }
        warnings = reading.sortedWarnings
    }

    /// Warns if only root can read a settings file, or the directory of the drop-ins.
    ///
    /// If `first` is not the settings file of the service, it is a draft. The directory of a draft is
    /// not checked, because root can check a draft in any directory.
    private func checkAccess(
        to path: String,
        _ index: Int,
        of first: String,
        _ reading: inout SettingsReading
    ) {
        let place = YAMLPlace(file: index, line: 0, column: 0)
        let dropIns = first + SettingsFile.directorySuffix
        let isInstalled = reading.environment.serviceUnits()?.settingsFile == first
        let folder =
            isInstalled ? nil : first.lastIndex(of: "/").map { String(first[...$0]) } ?? "."
        let (paths, directory) = index == 0 ? ([path, dropIns], folder) : ([path], dropIns)
        for path in paths { reading.warnIfOnlyForRoot(path, at: place, exempt: directory) }
    }
}

// MARK: - Table

extension Settings {
    static let table = SettingsTable<Settings>(
        .option(
            "listen",
            \.listen,
            .list("addresses", of: .listener(defaultPort: 53), count: SettingsLimits.listeners)
        ) {
            """
            Addresses and ports to listen on, over UDP and TCP. "0.0.0.0:53" and "[::]:53" require \
            an explicit `allow`. If a default address does not exist, the daemon logs a warning. \
            If a configured address does not exist, the daemon serves the address as soon as an \
            interface has it. A link-local address contains the name of its interface, for example \
            "[fe80::1%eth0]:53"; the interface can be created later. Addresses in systemd's \
            httpdnsd.socket and httpdnsd-ipv6.socket are always served. If httpdnsd-ipv6.socket \
            fails, the daemon logs a warning, and serves only IPv4. The service cannot bind ports \
            below 1024: add such addresses to httpdnsd.socket.
            """
        },
        .option("allow", \.allow, .list("addresses and networks", of: .prefix)) {
            """
            Addresses and networks of permitted clients. Other clients get REFUSED. If the list \
            lacks the loopback addresses, programs on this machine also get REFUSED.
            """
        },
        .section(
            "rate-limit",
            \.rateLimit,
            RateLimitSettings.table,
            fresh: RateLimitSettings(),
            isOn: true
        ) {
            """
            Limit on UDP responses for each client network, against reflection attacks with forged \
            source addresses. Programs that query a loopback address, and clients with a valid DNS \
            cookie (RFC 7873), are not limited.
            """
        },
        .option("workers", \.workers, .workers(SettingsLimits.workers)) {
            """
            Number of threads that answer queries from the cache, for each address in `listen`; \
            `auto`: one per CPU core. One thread is enough for most machines. If all addresses \
            together would need more than 128 threads, each address gets fewer threads, but at \
            least one. A change requires a restart.
            """
        },
        .section("accelerate", \.accelerate, AccelerateSettings.table) {
            """
            A BPF program in the Linux kernel that answers local queries. A change requires a \
            restart.
            """
        },
        .named("vendors", \.vendors) {
            """
            HTTPDNS accounts, each under a name that you choose. A vendor is called only for names \
            of routes that name the vendor.
            """
        },
        .list("routes", \.routes) {
            """
            Rules that send domains to vendors or to particular upstreams. Names without a route \
            go to the upstreams.
            """
        },
        .list(
            "upstreams",
            \.upstreams,
            live: [
                UpstreamSettings(
                    name: "dnspod",
                    url: UpstreamURL(literal: "https://doh.pub/dns-query"),
                    addresses: ["1.12.12.12", "120.53.53.53"]
                ),
                UpstreamSettings(
                    name: "alidns",
                    url: UpstreamURL(literal: "https://dns.alidns.com/dns-query"),
                    addresses: ["223.5.5.5", "223.6.6.6"]
                ),
            ]
        ) {
            """
            DNS resolvers for all queries that no vendor answers, in order of preference. The \
            example has the public DNS over HTTPS resolvers of Tencent and Alibaba: replace these \
            resolvers by resolvers that you trust. While the clock of a machine is wrong, the \
            daemon cannot verify certificates. So if a machine can boot with a wrong clock, also \
            add a plain DNS upstream (`udp://`).
            """
        },
        .section("fleet", \.fleet, FleetSettings.table, fresh: FleetSettings(), isExample: true) {
            """
            Exchange of vendors' answers with other machines through a Redis or Valkey server, so \
            that one call serves all machines. Shared answers are authenticated, and checked like \
            answers of the vendor. While the server does not respond, each machine calls the \
            vendors itself.
            """
        },
        .option("nat64", \.nat64, .nat64) {
            """
            Prefix of the NAT64 (RFC 6052). While only IPv6 works, the daemon uses this prefix to \
            reach vendors and upstreams that have IPv4 addresses. `auto` uses the prefix that a \
            router announces (RFC 8781, if the kernel processes the advertisements). If no router \
            announces a prefix, the daemon queries the DNS servers of the network, and then the \
            upstreams, for the prefix (RFC 7050). The daemon repeats these queries after each \
            change of the network, and when the TTL of the prefix ends. `off` uses no prefix. For \
            `rebinding` and `private-answers`, an IPv6 address under the prefix counts as the IPv4 \
            address that it contains; for these two options, a configured prefix applies even \
            while IPv4 works.
            """
        },
        .option("dns64", \.dns64, .choice()) {
            """
            Names for which the daemon synthesizes missing IPv6 addresses (RFC 6147), while only \
            IPv6 works and the NAT64 prefix is known. `vendors`: names of routes with vendors. \
            `all`: also all other names, for networks with resolvers that do not synthesize \
            addresses. `off`: no names. Clients that request DNSSEC get no synthesized addresses.
            """
        },
        .option("portal", \.portal, .choice()) {
            """
            Captive portals: login pages of networks that block all other traffic. `auto`: \
            `status` and the log report a portal that NetworkManager or the daemon has found. \
            `httpdnsctl portal` sends nearly all names (see httpdnsctl(1)) to the DNS servers of \
            the network for a limited time, so that the login page opens. `off` disables the \
            report and the command.
            """
        },
        .section("hosts", \.hosts, HostsSettings.table) {
            """
            Local names and addresses, which take precedence over routes and special names. A PTR \
            query returns the first name of the address. `localhost` always means this machine.
            """
        },
        .section("cache", \.cache, CacheSettings.table) { "Cache of answers." },
        .section("answers", \.answers, AnswerSettings.table) {
            "Changes that httpdnsd makes to answers."
        },
        .section("rebinding", \.rebinding, RebindingSettings.table) {
            """
            Protection against DNS rebinding, an attack in which a web page reaches devices in \
            your network through a public name that resolves to a private address. These options \
            apply to answers of upstreams; for answers of vendors, see `private-answers` of a route.
            """
        },
        .section("control", \.control, ControlSettings.table) {
            "Unix socket for httpdnsctl. A change requires a restart."
        },
        .section("metrics", \.metrics, MetricsSettings.table) { "Metrics for Prometheus." },
        .section("log", \.log, LogSettings.table) { "Logging to standard error or to the journal." }
    )
}
