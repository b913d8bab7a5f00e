// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Everything a settings file says, with defaults for what it leaves out.
package struct Settings: Sendable, Equatable {
    /// The addresses listened on, UDP and TCP each.
    package var listen = ["127.0.0.1:53", "[::1]:53"].compactMap { SocketAddress($0) }

    /// Whether the file leaves `listen` out: then an address that this machine does not have is no error.
    package var listenMark = DefaultMark(isDefault: true)

    /// Who may ask; others get REFUSED.
    package var allow = ["127.0.0.0/8", "::1/128"].compactMap { IPPrefix($0) }

    /// How often clients beyond this machine are answered; nil for any number of times.
    package var rateLimit: RateLimitSettings? = RateLimitSettings()

    /// The threads that answer from the cache.
    package var workers = WorkerCount.automatic

    /// Whether the kernel answers for them.
    package var accelerate = AccelerateSettings()

    /// The accounts with vendors, in the order of the file.
    package var vendors: [VendorSettings] = []

    /// Who is asked for which names, in the order of the file.
    package var routes: [RouteSettings] = []

    /// The resolvers for everything else, in the order of preference.
    package var upstreams: [UpstreamSettings] = []

    package var hosts = HostsSettings()
    package var cache = CacheSettings()
    package var answers = AnswerSettings()
    package var rebinding = RebindingSettings()
    package var control = ControlSettings()
    package var metrics = MetricsSettings()
    package var log = LogSettings()

    /// What was odd in the file without being wrong, in the order of its lines.
    package var warnings: [SettingsProblem] = []

    /// The defaults.
    ///
    /// They answer nothing, as they have neither routes nor upstreams.
    package init() {}
}

/// Whether a file leaves an option out: no part of what the settings say, so all marks are equal.
package struct DefaultMark: Sendable, Equatable {
    package var isDefault: Bool

    package static func == (left: DefaultMark, right: DefaultMark) -> Bool { true }
}

/// How many threads answer from the cache.
package enum WorkerCount: Sendable, Hashable {
    /// One per core the process may run on.
    case automatic
    case fixed(Int)
}

// MARK: - Reading

extension Settings {
    /// Reads a file with its drop-ins, and the secrets they point to.
    ///
    /// - Throws: everything that is wrong with them, at once.
    package static func load(
        file: String,
        environment: SettingsEnvironment = .process
    ) throws(SettingsErrors) -> Settings {
        let files = [SettingsFile(reading: file)] + SettingsFile.dropIns(of: file)
        return try Settings(parsing: files, environment: environment)
    }

    /// Reads `text` in the place of a file, with that file's drop-ins, and the secrets they point to.
    ///
    /// - Throws: everything that is wrong with them, at once.
    static func load(
        _ text: String,
        named name: String,
        insteadOf file: String
    ) throws(SettingsErrors) -> Settings {
        let main = SettingsFile(name: name, octets: [UInt8](text.utf8))
        return try Settings(
            parsing: [main] + SettingsFile.dropIns(of: file),
            environment: .process
        )
    }

    /// Reads a text, and the secrets it points to.
    ///
    /// - Throws: everything that is wrong with it, at once.
    package init(
        parsing text: String,
        fileName: String,
        environment: SettingsEnvironment = .process
    ) throws(SettingsErrors) {
        try self.init(parsing: [UInt8](text.utf8), fileName: fileName, environment: environment)
    }

    /// Reads the octets of a file, which need not be text at all.
    ///
    /// - Throws: everything that is wrong with it, at once.
    package init(
        parsing octets: [UInt8],
        fileName: String,
        environment: SettingsEnvironment = .process
    ) throws(SettingsErrors) {
        let file = SettingsFile(name: fileName, octets: octets)
        try self.init(parsing: [file], environment: environment)
    }

    /// Reads files one over the other: each says only what it changes, or adds.
    ///
    /// - Throws: everything that is wrong with any of them, at once.
    init(
        parsing files: [SettingsFile],
        environment: SettingsEnvironment
    ) throws(SettingsErrors) {
        self.init()
        var reading = SettingsReading(files: files.map(\.name), environment: environment)
        var isWhole = true
        for (index, file) in files.enumerated() {
            let text = file.text(index)
            for complaint in text.complaints {
                reading.report(complaint.place, complaint.message, hint: complaint.hint)
            }
            // A text that could be read to its end is checked, whatever else is wrong in it.
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
}

// MARK: - Table

extension Settings {
    /// The whole manual, top to bottom.
    static let table = SettingsTable<Settings>(
        .option(
            "listen",
            \.listen,
            .list("addresses", of: .address(defaultPort: 53), count: SettingsLimits.listeners),
            """
            The addresses that are listened on, UDP and TCP each. The unspecified addresses \
            "0.0.0.0:53" and "[::]:53" mean all of the machine's and need an explicit `allow`. \
            Without this option, an address that the machine does not have, such as that of IPv6, is \
            left out with a warning; one that is named here must be there. \
            What systemd's httpdnsd.socket and httpdnsd-ipv6.socket name is taken from there, and \
            served whether it is named here or not; other ports below 1024 have to be named there.
            """
        ),
        .option(
            "allow",
            \.allow,
            .list("blocks of addresses", of: .prefix),
            """
            Who may ask, by the address they ask from. Others get REFUSED.
            """
        ),
        .section(
            "rate-limit",
            \.rateLimit,
            RateLimitSettings.table,
            fresh: RateLimitSettings(),
            isOn: true,
            """
            How much is answered over UDP to others than this machine: with forged addresses one could \
            have us send more to somebody than it costs to ask. Those whose cookie proves their \
            address (RFC 7873) have no limit.
            """
        ),
        .option(
            "workers",
            \.workers,
            .workers(SettingsLimits.workers),
            """
            The threads that answer from the cache; `auto` is one per core.
            """
        ),
        .section(
            "accelerate",
            \.accelerate,
            AccelerateSettings.table,
            """
            Answers inside the kernel, for programs of this machine: faster than any program can be, and \
            without work for the daemon.
            """
        ),
        .named(
            "vendors",
            \.vendors,
            """
            Your accounts with vendors of HTTPDNS, under names of your own. A vendor is asked only \
            for names that a route sends to it.
            """
        ),
        .list(
            "routes",
            \.routes,
            """
            Which names are asked of whom. Names without a route go to the upstreams.
            """
        ),
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
            ],
            """
            The resolvers for everything that no vendor answers, in the order of preference. \
            Without any, only names that a route covers can be answered. These two are the public \
            resolvers of Tencent and Alibaba over HTTPS: replace them by those you trust. \
            Certificates cannot be checked by a clock that is years behind: a machine that boots \
            without the time needs a plain one (`udp://`) after them.
            """
        ),
        .section(
            "hosts",
            \.hosts,
            HostsSettings.table,
            """
            Names whose addresses are written down. They win over routes and special names, and have \
            no other addresses; the first name of an address is what it is called. `localhost` is \
            always this machine, whatever they say.
            """
        ),
        .section(
            "cache",
            \.cache,
            CacheSettings.table,
            """
            How long answers are kept, and how many.
            """
        ),
        .section(
            "answers",
            \.answers,
            AnswerSettings.table,
            """
            What is done to answers.
            """
        ),
        .section(
            "rebinding",
            \.rebinding,
            RebindingSettings.table,
            """
            Protection against DNS rebinding: pages under a public name whose address leads into your \
            own network, where they talk to routers and printers. Vendors' answers always have it, \
            see `private-answers`.
            """
        ),
        .section(
            "control",
            \.control,
            ControlSettings.table,
            """
            Where httpdnsctl finds the daemon, and who may use it.
            """
        ),
        .section(
            "metrics",
            \.metrics,
            MetricsSettings.table,
            """
            Where Prometheus finds the counters.
            """
        ),
        .section(
            "log",
            \.log,
            LogSettings.table,
            """
            What is logged, to standard error or the journal.
            """
        )
    )
}
