// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// Everything about a machine that the checks look at: data only, so that tests can write machines.
struct Surroundings: Sendable {
    /// Whether this process may see everything.
    var isRoot = true

    /// Whether it runs, and is not a directory of files only.
    var isLive = true

    /// What the daemon says of itself, or why it says nothing.
    var daemon: Result<StatusReply, Failure> = .failure(
        Failure(message: "not asked", status: .unreachable)
    )

    /// The version of this program.
    var version = Product.version

    /// What the daemon's listeners said to a question, by address and transport.
    var answers: [ListenerAnswer] = []

    /// Who holds port 53.
    var sockets: [PortSocket] = []

    /// The names of the programs that run.
    var processes: Set<String> = []

    /// Who writes `/etc/resolv.conf`, and what it says.
    var resolver = ResolverFacts()

    /// What a setup left; nil if there was none.
    var journal: SetupJournal?

    /// The files that were changed since the setup.
    var changedFiles: [String] = []

    /// What `/etc/nsswitch.conf` says; nil if it is not there.
    var nsswitch: String?

    /// What `/etc/nscd.conf` says; nil if it is not there.
    var nscd: String?

    /// The variables that change what getaddrinfo does, where they are set.
    var environment: [String: String] = [:]

    /// What getaddrinfo said; nil if it was not asked.
    var lookup: SystemLookup?

    /// What container engines and the kubelet are told, by the path of the file.
    var containerFiles: [String: String] = [:]

    /// What the system's unit is doing; nil without systemd.
    var unit: UnitState?

    /// What the control socket's file is; nil if it is not there.
    var socket: FileAccess?

    /// Where the control socket is looked for.
    var socketPath = Product.defaultSocket

    /// What the daemon says of its settings as they are now; nil if it was not asked or would not say.
    var rehearsal: ReloadReply?

    /// What `httpdnsd --check` said in the daemon's place; nil if it could not be run.
    var settings: Subprocess.Outcome?

    /// Where the settings are: where the daemon reads them.
    var settingsPath = Self.settings

    /// Whether the settings are there.
    var hasSettings = true

    /// The files that the settings take secrets from.
    var secrets: [FileAccess] = []

    /// How many descriptors the daemon may have open; nil if unknown.
    var descriptors: Int?

    /// Whether something keeps the clock right; nil if unknown.
    var isClockSynchronised: Bool?

    /// The certificate stores that are there.
    var certificateStores: [String] = []

    /// Who answered a question that nobody could get; nil if it was not asked.
    var interceptors: [Interception]?

    /// Where the settings are by default.
    static let settings = "/etc/httpdnsd/httpdnsd.yaml"

    // MARK: - Parts

    /// What a listener said.
    struct ListenerAnswer: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var outcome: Probe.Outcome
    }

    /// A socket on port 53.
    struct PortSocket: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        /// Whose it is.
        var user: UInt32
        /// Which program it is, and its number; nil if that may not be seen.
        var process: Process?

        /// A program that runs.
        struct Process: Equatable, Sendable {
            var name: String
            var pid: Int
        }
    }

    /// A question to getaddrinfo.
    struct SystemLookup: Equatable, Sendable {
        var name: String
        /// Those it gave.
        var addresses: Set<IPAddress> = []
        /// How long it took; nil if it was ended at its deadline.
        var duration: Duration?
        /// Those that the daemon gives; nil if the name is one that nobody has.
        var expected: Set<IPAddress>?
        /// How many more queries the daemon had answered by itself after it; nil if unknown.
        var seenByDaemon: UInt64?
    }

    /// What systemd says of the unit.
    struct UnitState: Equatable, Sendable {
        /// `active`, `inactive`, `failed` and so on.
        var active: String
        /// `enabled`, `disabled` and so on; empty if there is no unit.
        var enabled: String
        /// The reason of the last end, such as `exit-code` or `signal`; `success` if there was none.
        var result = "success"
        /// The exit code of the last run, or the number of the signal that ended it.
        var code = 0
    }

    /// Who may do what with a file.
    struct FileAccess: Equatable, Sendable {
        var path: String
        var mode: UInt32
        var user: UInt32
        var group: UInt32
        /// The name of its group.
        var groupName = ""
        /// Whether this process may write to it.
        var isWritable = true
    }

    /// A question to an address that nobody has.
    struct Interception: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        /// Whether it was answered.
        var isAnswered: Bool
    }

    // MARK: - Reading

    /// What the daemon says of itself.
    var status: StatusReply? { try? daemon.get() }

    /// Where programs of this machine reach the daemon; the default settings' if it says nothing.
    var servers: [ServerAddress] {
        let known = status.map(SetupServers.listeners) ?? []
        return known.isEmpty ? ["127.0.0.1", "::1"].compactMap { ServerAddress($0) } : known
    }

    /// The addresses and port that the daemon listens on; 53 of loopback if it says nothing.
    func isDaemon(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return servers.contains { $0.address == address && $0.port == 53 }
    }
}
