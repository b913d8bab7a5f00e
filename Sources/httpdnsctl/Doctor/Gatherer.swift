// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Glibc

/// Collector of the facts for the checks.
///
/// By default, the checks query only names that the daemon answers locally.
struct Gatherer {
    let tree: FileTree
    let client: ControlClient
    var options = Options()
    var progress: (String) -> Void = { _ in }

    struct Options {
        /// Name that getaddrinfo resolves; if nil, a random name below `test.`.
        var name: Name?
        var usesNetwork = false
        var settings: String?
    }

    static let limit = Duration.seconds(10)
    private let deadline = ContinuousClock.now.advanced(by: Self.limit)

    func facts() throws(Failure) -> MachineFacts {
        var machine = MachineFacts()
        machine.isRoot = geteuid() == 0
        if machine.isRoot {
            machine.journal = try SetupJournal.read(from: tree, ignoringDamage: true)
            machine.lostOriginals = try ResolverFacts(of: tree, before: machine.journal).lost
        }
        machine.resolver = try ResolverFacts(of: tree, before: nil, seesSetup: true)
        for entry in machine.journal?.entries ?? [] where try tree.state(entry.path) != entry.after
        { machine.changedFiles.append(entry.path) }
        machine.nsswitch = tree.text("/etc/nsswitch.conf")
        machine.nscd = tree.text("/etc/nscd.conf")
        for path in Self.containerFiles { machine.containerFiles[path] = tree.text(path) }
        machine.certificateStores = certificateStores()
        machine.socketPath = FileTree.absolute(client.socket)
        machine.socket = access(machine.socketPath)
        machine.isLive = tree.isThisMachine
        if machine.isLive {
            progress("querying the daemon")
            machine.daemon = SetupVerb.status(of: client)
            for vendor in stats()?.vendors ?? [] where vendor.successes == 0 && vendor.empty >= 20 {
                machine.emptyVendors[vendor.name] = vendor.empty
            }
        }
        machine.settingsPath =
            options.settings ?? settingsOfDaemon(machine) ?? MachineFacts.settings
        machine.hasSettings = tree.exists(machine.settingsPath)
        machine.secrets = secrets(in: machine.settingsPath)
        machine.proxies = proxies([:])
        guard machine.isLive else { return machine }

        machine.answers = answers(machine)
        progress("finding the processes on port 53")
        look(atProcessesFor: &machine)
        progress("querying systemd")
        machine.unit = unit(machine)
        if machine.unit?.hasOwnUser == true {
            machine.closedSettings = settingsFiles(machine.settingsPath).compactMap(access)
                .filter(\.isOnlyForRoot).map(\.path)
        }
        machine.environment = environment()
        machine.proxies = proxies(proxyVariables())
        progress("testing getaddrinfo")
        machine.lookup = lookup(machine)
        progress("checking the settings")
        if options.settings == nil, machine.status != nil {
            machine.settingsCheck = settingsCheck()
        }
        if machine.settingsCheck == nil, machine.isRoot, machine.hasSettings {
            machine.settings = Subprocess.run(
                ["httpdnsd", "--config", machine.settingsPath, "--check"],
                within: left(.seconds(3))
            ).flatMap { $0.status == nil ? nil : $0 }
        }
        machine.isClockSynchronised = ClockState.isSynchronised
        if options.usesNetwork {
            progress("querying unassigned addresses")
            machine.interceptors = interceptors()
        }
        progress("")
        return machine
    }

    private static let containerFiles = [
        "/etc/docker/daemon.json", "/var/lib/kubelet/config.yaml",
        "/etc/containers/containers.conf",
    ]

    private func left(_ wanted: Duration) -> Duration {
        max(.milliseconds(100), min(wanted, ContinuousClock.now.duration(to: deadline)))
    }

    // MARK: - Files

    private func access(_ path: String) -> MachineFacts.FileAccess? {
        guard let status = tree.status(path, follows: true) else { return nil }
        // SAFETY: access(2) reads a C string that lives during the call.
        let isWritable = unsafe Glibc.access(tree.root + path, W_OK) == 0
        return MachineFacts.FileAccess(
            path: path,
            mode: status.st_mode & 0o7777,
            user: status.st_uid,
            group: status.st_gid,
            groupName: groupName(status.st_gid),
            isWritable: isWritable
        )
    }

    /// Reads `/etc/group`, because getgrgid(3) might query an LDAP server.
    private func groupName(_ group: UInt32) -> String {
        for line in (tree.text("/etc/group") ?? "").split(whereSeparator: \.isNewline) {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            if fields.count > 2, UInt32(fields[2]) == group { return String(fields[0]) }
        }
        return "\(group)"
    }

    private func settingsFiles(_ settings: String) -> [String] {
        [settings]
            + tree.names(in: settings + ".d").filter { $0.hasSuffix(".yaml") }
            .map { "\(settings).d/\($0)" }
    }

    private func secrets(in settings: String) -> [MachineFacts.FileAccess] {
        let text = settingsFiles(settings).compactMap(tree.text).joined(separator: "\n")
        let lines = text.split(whereSeparator: \.isNewline).filter { line in
            line.first { $0 != " " } != "#" && !line.contains("ca-file:")
        }
        return lines.flatMap { line in
            line.split(separator: "file:", omittingEmptySubsequences: false).dropFirst()
                .map { rest in
                    rest.drop { " \"'".contains($0) }.prefix { !" \"',}#".contains($0) }
                }
        }.filter { $0.hasPrefix("/") }.compactMap { access(String($0)) }
    }

    private func certificateStores() -> [String] {
        let usual = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
        ]
        return (environmentValue("SSL_CERT_FILE").map { [$0] } ?? usual).filter(tree.exists)
    }

    // MARK: - Programs

    private func unit(_ machine: MachineFacts) -> MachineFacts.UnitState? {
        guard machine.resolver.present.contains(ResolverFacts.Paths.systemd) else { return nil }
        return MachineFacts.UnitState.ofDaemon(within: left(.seconds(2)))
    }

    /// Uses a child process, because getaddrinfo may block without limit.
    private func lookup(_ machine: MachineFacts) -> MachineFacts.SystemLookup? {
        let label = String(UInt64.random(in: 0 ... .max), radix: 36)
        let name = options.name ?? (try? Name("httpdnsctl-\(label).test"))
        guard let name else { return nil }
        var lookup = MachineFacts.SystemLookup(name: name.text)
        let before = options.name == nil ? answeredLocally() : nil
        guard
            let outcome = Subprocess.run(
                ["getent", "ahosts", name.text],
                within: left(.seconds(5))
            )
        else { return nil }
        lookup.duration = outcome.status == nil ? nil : outcome.duration
        lookup.addresses = Set(
            outcome.output.split(whereSeparator: \.isNewline).compactMap { line in
                line.split(separator: " ").first.flatMap { IPAddress($0) }
            }
        )
        if let before, let after = answeredLocally() {
            lookup.seenByDaemon = after >= before ? after - before : 0
        }
        if options.name != nil, let server = machine.servers.first, machine.status != nil {
            lookup.expected = addresses(of: name, from: server)
        }
        return lookup
    }

    private func addresses(of name: Name, from server: ServerAddress) -> Set<IPAddress>? {
        var all: Set<IPAddress> = []
        for type in [RecordType.a, .aaaa] {
            let outcome = Probe.ask(server, name, type, over: .tcp, within: left(.seconds(5)))
            guard case .answer(_, let addresses) = outcome else { return nil }
            all.formUnion(addresses)
        }
        return all
    }

    private func settingsCheck() -> ReloadReply? {
        guard let reply = try? client.call(.check, CheckRequest()) else { return nil }
        return try? reply.checked(as: ReloadReply.self)
    }

    private func answeredLocally() -> UInt64? {
        stats().map { $0.queries.bySource["local"] ?? 0 }
    }

    private func stats() -> StatsReply? {
        guard let reply = try? client.call(.stats, StatsRequest()) else { return nil }
        return try? reply.checked(as: StatsReply.self)
    }

    // MARK: - Questions

    /// Queries each listener for `localhost`, which the daemon answers without an upstream.
    private func answers(_ machine: MachineFacts) -> [MachineFacts.ListenerAnswer] {
        guard machine.status != nil else { return [] }
        return machine.servers.flatMap { server in
            Probe.Transport.allCases.map { transport in
                MachineFacts.ListenerAnswer(
                    server: server,
                    transport: transport,
                    outcome: Probe.ask(
                        server,
                        SetupServers.question,
                        over: transport,
                        within: left(.seconds(1))
                    )
                )
            }
        }
    }

    /// Queries TEST-NET addresses (RFC 5737): only a device that intercepts port 53 answers there.
    private func interceptors() -> [MachineFacts.Interception] {
        let servers = ["192.0.2.1", "198.51.100.1"].compactMap { ServerAddress($0) }
        let label = String(UInt64.random(in: 0 ... .max), radix: 36)
        guard let name = try? Name("\(label).example.com") else { return [] }
        return servers.flatMap { server in
            Probe.Transport.allCases.map { transport in
                let outcome = Probe.ask(server, name, over: transport, within: left(.seconds(1)))
                guard case .answer = outcome else {
                    return .init(server: server, transport: transport, isAnswered: false)
                }
                return .init(server: server, transport: transport, isAnswered: true)
            }
        }
    }

    // MARK: - Environment

    private func environment() -> [String: String] {
        var values: [String: String] = [:]
        for name in ["RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES"] {
            values[name] = environmentValue(name)
        }
        return values
    }

    private func proxyVariables() -> [String: String] {
        var values: [String: String] = [:]
        for name in ProxySetting.variables.flatMap({ [$0, $0.uppercased()] }) {
            values[name] = environmentValue(name)
        }
        return values
    }

    private func environmentValue(_ name: String) -> String? {
        // SAFETY: the string is copied, and this program never changes its environment.
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
