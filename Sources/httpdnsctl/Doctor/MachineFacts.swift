// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// Facts about a machine, as pure data, so that tests can define machines.
struct MachineFacts: Sendable {
    var isRoot = true

    /// False for a directory that contains the files of a machine.
    var isLive = true

    /// Status of the daemon, or the failure to get it.
    var daemon: Result<StatusReply, Failure> = .failure(
        Failure(message: "not queried", status: .unreachable)
    )

    var version = Product.version

    /// Answers of the daemon's listeners, by address and transport.
    var answers: [ListenerAnswer] = []

    var sockets: [PortSocket] = []

    var processes: Set<String> = []

    /// Facts about `/etc/resolv.conf` and its manager.
    var resolver = ResolverFacts()

    /// Setup journal of `httpdnsctl setup`; nil if there is none.
    var journal: SetupJournal?

    /// Files that a setup wrote and whose original contents no setup journal contains.
    var lostOriginals: [String] = []

    var changedFiles: [String] = []

    /// Content of `/etc/nsswitch.conf`; nil if it does not exist.
    var nsswitch: String?

    /// Content of `/etc/nscd.conf`; nil if it does not exist.
    var nscd: String?

    /// Environment variables that change the behaviour of getaddrinfo.
    var environment: [String: String] = [:]

    /// Result of getaddrinfo; nil if it was not called.
    var lookup: SystemLookup?

    /// Configuration of container engines and the kubelet, by path.
    var containerFiles: [String: String] = [:]

    /// State of the daemon's unit; nil without systemd.
    var unit: UnitState?

    /// Permissions of the control socket; nil if it does not exist.
    var socket: FileAccess?

    var socketPath = Product.defaultSocket

    /// Result of `Check` from the daemon; nil if it was not or could not be called.
    var settingsCheck: ReloadReply?

    /// Result of `httpdnsd --check`; nil if it could not be run.
    var settings: Subprocess.Outcome?

    var settingsPath = Self.settings

    /// Settings files that the service, which runs as its own user, cannot read.
    var closedSettings: [String] = []

    var hasSettings = true

    var secrets: [FileAccess] = []

    /// Limit of open files of the daemon; nil if unknown.
    var descriptors: Int?

    var isClockSynchronised: Bool?

    var certificateStores: [String] = []

    /// Results of queries to unassigned addresses; nil without `--network`.
    var interceptors: [Interception]?

    static let settings = "/etc/httpdnsd/httpdnsd.yaml"

    // MARK: - Parts

    struct ListenerAnswer: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var outcome: Probe.Outcome
    }

    /// A socket on port 53.
    struct PortSocket: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var user: UInt32
        /// Process that has the socket open; nil if unknown.
        var process: Process?

        /// A running process.
        struct Process: Equatable, Sendable {
            var name: String
            var pid: Int
        }
    }

    /// Result of a getaddrinfo call.
    struct SystemLookup: Equatable, Sendable {
        var name: String
        var addresses: Set<IPAddress> = []
        /// Duration; nil after a timeout.
        var duration: Duration?
        /// Addresses from the daemon; nil if no name was given.
        var expected: Set<IPAddress>?
        /// Number of queries that the daemon answered locally meanwhile; nil if unknown.
        var seenByDaemon: UInt64?
    }

    /// State of a systemd unit.
    struct UnitState: Equatable, Sendable {
        /// `ActiveState`: `active`, `inactive`, `failed` and others.
        var active: String
        /// `SubState`, such as `running` or `auto-restart`.
        var sub = ""
        /// `UnitFileState`: `enabled`, `disabled` and others; empty if there is no unit.
        var enabled: String
        /// `Result` of the last run, such as `exit-code` or `signal`; `success` if there was none.
        var result = "success"
        /// Exit code of the last run, or the number of the signal that ended it.
        var code = 0
        /// True if the service runs as its own user (`DynamicUser=`).
        var hasOwnUser = false

        /// Exit code of the last run; nil if it succeeded, or ended without one, as after a signal.
        var exitCode: Int? { result == "exit-code" ? code : nil }

        /// End of the last run in words.
        var cause: String { exitCode.map { "exit code \($0)" } ?? result }
    }

    /// Owner and permissions of a file.
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

    /// Returns true if an address is one of the daemon's, on port 53.
    func isDaemon(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return servers.contains { $0.address == address && $0.port == 53 }
    }
}
