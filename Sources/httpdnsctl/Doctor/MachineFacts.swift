// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// Facts about a machine, as pure data for the checks.
struct MachineFacts: Sendable {
    var isRoot = true

    /// False for a directory with the files of a machine.
    var isLive = true

    var daemon: Result<StatusReply, Failure> = .failure(
        Failure(message: "not queried", status: .unreachable)
    )

    var version = Product.version

    /// Answers of the listeners, by address and transport.
    var answers: [ListenerAnswer] = []

    var sockets: [PortSocket] = []

    var processes: Set<String> = []

    var resolver = ResolverFacts()

    /// Journal of `httpdnsctl setup`; nil if there is none.
    var journal: SetupJournal?

    /// Files that a setup wrote and whose originals are in no journal.
    var lostOriginals: [String] = []

    var changedFiles: [String] = []

    /// `/etc/nsswitch.conf`; nil if it does not exist.
    var nsswitch: String?

    /// `/etc/nscd.conf`; nil if it does not exist.
    var nscd: String?

    /// Environment variables that affect getaddrinfo.
    var environment: [String: String] = [:]

    var lookup: SystemLookup?

    /// Configuration of container engines and the kubelet, by path.
    var containerFiles: [String: String] = [:]

    var unit: UnitState?

    /// Control socket; nil if it does not exist.
    var socket: FileAccess?

    var socketPath = Product.defaultSocket

    /// Result of `Check` from the daemon; nil without one.
    var settingsCheck: ReloadReply?

    /// Result of `httpdnsd --check`; nil if it could not run.
    var settings: Subprocess.Outcome?

    var settingsPath = Self.settings

    /// Settings files that the user of the service cannot read.
    var closedSettings: [String] = []

    var hasSettings = true

    var secrets: [FileAccess] = []

    /// Limit of open files of the daemon; nil if unknown.
    var descriptors: Int?

    var isClockSynchronised: Bool?

    var certificateStores: [String] = []

    /// Nil without `--network`.
    var interceptors: [Interception]?

    static let settings = "/etc/httpdnsd/httpdnsd.yaml"

    // MARK: - Parts

    struct ListenerAnswer: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var outcome: Probe.Outcome
    }

    /// Socket on port 53.
    struct PortSocket: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var user: UInt32
        /// Nil if unknown.
        var process: Process?

        struct Process: Equatable, Sendable {
            var name: String
            var pid: Int
        }
    }

    struct SystemLookup: Equatable, Sendable {
        var name: String
        var addresses: Set<IPAddress> = []
        /// Nil after a timeout.
        var duration: Duration?
        /// Addresses from the daemon; nil if no name was given.
        var expected: Set<IPAddress>?
        /// Queries that the daemon answered locally meanwhile; nil if unknown.
        var seenByDaemon: UInt64?
    }

    /// State of a systemd unit, as `systemctl show` prints it.
    struct UnitState: Equatable, Sendable {
        /// `ActiveState`, such as `active` or `failed`.
        var active: String
        /// `SubState`, such as `running` or `auto-restart`.
        var sub = ""
        /// `UnitFileState`, such as `enabled`; empty if there is no unit.
        var enabled: String
        /// `Result` of the last run: `success`, `exit-code`, `signal` and others.
        var result = "success"
        /// Exit code of the last run, or the signal number.
        var code = 0
        /// True with `DynamicUser=`.
        var hasOwnUser = false

        /// Nil if the last run succeeded or ended without an exit code.
        var exitCode: Int? { result == "exit-code" ? code : nil }

        var cause: String { exitCode.map { "exit code \($0)" } ?? result }
    }

    struct FileAccess: Equatable, Sendable {
        var path: String
        var mode: UInt32
        var user: UInt32
        var group: UInt32
        var groupName = ""
        var isWritable = true

        /// True if only root, or the group root, can read the file.
        var isOnlyForRoot: Bool {
            user == 0 && mode & 0o004 == 0 && (group == 0 || mode & 0o040 == 0)
        }
    }

    /// Result of a query to an unassigned address.
    struct Interception: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var isAnswered: Bool
    }

    // MARK: - Reading

    var status: StatusReply? { try? daemon.get() }

    /// Local addresses of the daemon; those of the default settings if unknown.
    var servers: [ServerAddress] {
        let known = status.map(SetupServers.listeners) ?? []
        return known.isEmpty ? ["127.0.0.1", "::1"].compactMap { ServerAddress($0) } : known
    }

    /// Returns true for an address of the daemon on port 53.
    func isDaemon(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return servers.contains { $0.address == address && $0.port == 53 }
    }
}
