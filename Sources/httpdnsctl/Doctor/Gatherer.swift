// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire
import Glibc

/// Looks at a machine.
///
/// By default nothing leaves it: what is asked are the daemon, the system's own programs, and names
/// that the daemon answers by itself.
struct Gatherer {
    /// Its files.
    let tree: FileTree

    /// The daemon's control socket.
    let client: ControlClient

    /// What the user wants.
    var wishes = Wishes()

    /// Told before each step that may take a while.
    var progress: (String) -> Void = { _ in }

    /// What the user wants to be looked at.
    struct Wishes {
        /// The name that getaddrinfo is asked for; nil for one that nobody has.
        var name: Name?
        /// Whether packets may be sent to addresses that nobody has.
        var usesNetwork = false
        /// Where the settings are; nil for where the daemon reads them.
        var settings: String?
    }

    /// How long all of it may take.
    static let limit = Duration.seconds(10)

    /// When it must be over.
    private let deadline = ContinuousClock.now.advanced(by: Self.limit)

    /// Makes a gatherer, whose time begins now.
    init(tree: FileTree, client: ControlClient, wishes: Wishes) {
        self.tree = tree
        self.client = client
        self.wishes = wishes
    }

    /// Looks at everything.
    func surroundings() throws(Failure) -> Surroundings {
        var machine = Surroundings()
        machine.isRoot = geteuid() == 0
        machine.journal = machine.isRoot ? try SetupJournal.read(from: tree) : nil
        machine.resolver = try ResolverFacts(of: tree, before: nil)
        for entry in machine.journal?.entries ?? [] where try tree.state(entry.path) != entry.after
        {
            machine.changedFiles.append(entry.path)
        }
        machine.nsswitch = tree.text("/etc/nsswitch.conf")
        machine.nscd = tree.text("/etc/nscd.conf")
        for path in Self.containerFiles { machine.containerFiles[path] = tree.text(path) }
        machine.certificateStores = certificateStores()
        machine.socketPath = client.socket
        machine.socket = access(client.socket)
        // The rest is of this machine only.
        machine.isLive = tree.isThisMachine
        if machine.isLive {
            progress("asking the daemon")
            machine.daemon = SetupVerb.status(of: client)
        }
        machine.settingsPath = wishes.settings ?? settingsOfDaemon(machine) ?? Surroundings.settings
        machine.hasSettings = tree.exists(machine.settingsPath)
        machine.secrets = secrets(in: machine.settingsPath)
        guard machine.isLive else { return machine }

        machine.answers = answers(machine)
        progress("looking who holds port 53")
        look(atProcessesFor: &machine)
        progress("asking systemd")
        machine.unit = unit(machine)
        machine.environment = environment()
        progress("asking getaddrinfo")
        machine.lookup = lookup(machine)
        progress("checking the settings")
        if wishes.settings == nil, machine.status != nil { machine.rehearsal = rehearsal() }
        if machine.rehearsal == nil, machine.isRoot, machine.hasSettings {
            machine.settings = Subprocess.run(
                ["httpdnsd", "--config", machine.settingsPath, "--check"],
                within: left(.seconds(3))
            ).flatMap { $0.status == nil ? nil : $0 }
        }
        machine.isClockSynchronised = ClockState.isSynchronised
        if wishes.usesNetwork {
            progress("asking an address that nobody has")
            machine.interceptors = interceptors()
        }
        progress("")
        return machine
    }

    /// What container engines read.
    private static let containerFiles = [
        "/etc/docker/daemon.json", "/var/lib/kubelet/config.yaml",
        "/etc/containers/containers.conf",
    ]

    /// As much of `wanted` as is left of the time.
    private func left(_ wanted: Duration) -> Duration {
        max(.milliseconds(100), min(wanted, ContinuousClock.now.duration(to: deadline)))
    }

    // MARK: - Files

    /// Who may do what with a file; nil if it is not there.
    private func access(_ path: String) -> Surroundings.FileAccess? {
        guard let status = tree.status(path, follows: true) else { return nil }
        // SAFETY: access(2) reads a C string, which Swift makes for the call.
        let isWritable = unsafe Glibc.access(tree.root + path, W_OK) == 0
        return Surroundings.FileAccess(
            path: path,
            mode: status.st_mode & 0o7777,
            user: status.st_uid,
            group: status.st_gid,
            groupName: groupName(status.st_gid),
            isWritable: isWritable
        )
    }

    /// The name of a group by `/etc/group`: a lookup through NSS could ask the network.
    private func groupName(_ group: UInt32) -> String {
        for line in (tree.text("/etc/group") ?? "").split(separator: "\n") {
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            if fields.count > 2, UInt32(fields[2]) == group { return String(fields[0]) }
        }
        return "\(group)"
    }

    /// The files that the settings and their drop-ins take secrets from: every `file: PATH` that is
    /// there.
    private func secrets(in settings: String) -> [Surroundings.FileAccess] {
        let dropIns = tree.names(in: settings + ".d").filter { $0.hasSuffix(".yaml") }
            .map { "\(settings).d/\($0)" }
        let text = ([settings] + dropIns).compactMap(tree.text).joined(separator: "\n")
        let lines = text.split(separator: "\n").filter { line in
            line.first { $0 != " " } != "#" && !line.contains("ca-file:")
        }
        return lines.flatMap { line in
            line.split(separator: "file:", omittingEmptySubsequences: false).dropFirst()
                .map { rest in
                    rest.drop { " \"'".contains($0) }.prefix { !" \"',}#".contains($0) }
                }
        }.filter { $0.hasPrefix("/") }.compactMap { access(String($0)) }
    }

    /// The certificate stores that OpenSSL, as distributions build it, looks into.
    private func certificateStores() -> [String] {
        let usual = [
            "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
        ]
        return (environmentValue("SSL_CERT_FILE").map { [$0] } ?? usual).filter(tree.exists)
    }

    // MARK: - Programs

    /// What systemd says of the unit; nil if it does not run.
    private func unit(_ machine: Surroundings) -> Surroundings.UnitState? {
        guard machine.resolver.present.contains(ResolverFacts.Paths.systemd) else { return nil }
        let command = [
            "systemctl", "show", "--property=ActiveState,UnitFileState,Result,ExecMainStatus",
            "httpdnsd.service",
        ]
        guard let shown = Subprocess.run(command, within: left(.seconds(2))), shown.status == 0
        else { return nil }
        return Surroundings.UnitState(shown.output)
    }

    /// What getaddrinfo says, in a process of its own: it may have no end.
    private func lookup(_ machine: Surroundings) -> Surroundings.SystemLookup? {
        // Below test. nobody has a name, and the daemon says so by itself (RFC 6761 §6.2).
        let label = String(UInt64.random(in: 0 ... .max), radix: 36)
        let name = wishes.name ?? (try? Name("httpdnsctl-\(label).test"))
        guard let name else { return nil }
        var lookup = Surroundings.SystemLookup(name: name.text)
        let before = wishes.name == nil ? answeredLocally() : nil
        guard
            let outcome = Subprocess.run(
                ["getent", "ahosts", name.text],
                within: left(.seconds(5))
            )
        else { return nil }
        lookup.duration = outcome.status == nil ? nil : outcome.duration
        lookup.addresses = Set(
            outcome.output.split(separator: "\n").compactMap { line in
                line.split(separator: " ").first.flatMap { IPAddress($0) }
            }
        )
        if let before, let after = answeredLocally() {
            lookup.seenByDaemon = after >= before ? after - before : 0
        }
        if wishes.name != nil, let server = machine.servers.first, machine.status != nil {
            lookup.expected = addresses(of: name, from: server)
        }
        return lookup
    }

    /// The addresses of both families that a server has; nil if it does not answer.
    private func addresses(of name: Name, from server: ServerAddress) -> Set<IPAddress>? {
        var all: Set<IPAddress> = []
        for type in [RecordType.a, .aaaa] {
            let outcome = Probe.ask(server, name, type, over: .tcp, within: left(.seconds(5)))
            guard case .answer(_, let addresses) = outcome else { return nil }
            all.formUnion(addresses)
        }
        return all
    }

    /// What the daemon would say to a reload; nil if it does not tell this user.
    private func rehearsal() -> ReloadReply? {
        guard let reply = try? client.call(.check, CheckRequest()) else { return nil }
        return try? reply.checked(as: ReloadReply.self)
    }

    /// How many queries the daemon has answered by itself; nil if it does not say.
    private func answeredLocally() -> UInt64? {
        guard let reply = try? client.call(.stats, StatsRequest()),
            let stats = try? reply.checked(as: StatsReply.self)
        else { return nil }
        return stats.queries.bySource["local"] ?? 0
    }

    // MARK: - Questions

    /// What each listener says to a question that causes no traffic.
    private func answers(_ machine: Surroundings) -> [Surroundings.ListenerAnswer] {
        guard machine.status != nil else { return [] }
        return machine.servers.flatMap { server in
            Probe.Transport.allCases.map { transport in
                Surroundings.ListenerAnswer(
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

    /// Asks addresses that nobody has (TEST-NET-1 and -2, RFC 5737) for a name that nobody has: who
    /// answers is on the way.
    private func interceptors() -> [Surroundings.Interception] {
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

    /// The variables of resolver(3) that are set.
    private func environment() -> [String: String] {
        var values: [String: String] = [:]
        for name in ["RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES"] {
            values[name] = environmentValue(name)
        }
        return values
    }

    /// A variable; nil if it is not set.
    private func environmentValue(_ name: String) -> String? {
        // SAFETY: getenv returns nil or a C string, copied before anything changes the environment.
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }
}
