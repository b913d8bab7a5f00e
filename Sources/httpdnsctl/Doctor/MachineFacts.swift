// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

/// Facts about a machine, as pure data for the checks.
struct MachineFacts: Sendable {
    var isRoot = true

    /// False for an image in a directory.
    var isLive = true

    var daemon: Result<StatusReply, Failure> = .failure(
        Failure(message: "not queried", status: .unreachable)
    )

    var version = Product.version

    var answers: [ListenerAnswer] = []

    var sockets: [PortSocket] = []

    var processes: Set<String> = []

    var resolver = ResolverFacts()

    /// Nil without a setup.
    var journal: SetupJournal?

    /// Files that a setup wrote and whose originals are in no journal.
    var lostOriginals: [String] = []

    var changedFiles: [String] = []

    /// Nil if the file does not exist.
    var nsswitch: String?

    /// Nil if the file does not exist.
    var nscd: String?

    /// Variables that affect getaddrinfo.
    var environment: [String: String] = [:]

    var lookup: SystemLookup?

    /// Container engines and the kubelet, by path.
    var containerFiles: [String: String] = [:]

    var unit: UnitState?

    /// Control socket; nil if it does not exist.
    var socket: FileAccess?

    var socketPath = Product.defaultSocket

    /// Result of `Check` from the daemon; nil without one.
    var settingsCheck: ReloadReply?

    /// Result of `httpdnsd --check`; nil without one.
    var settings: Subprocess.Outcome?

    var settingsPath = Self.settings

    /// Unreadable for the user of the service.
    var closedSettings: [String] = []

    var hasSettings = true

    var secrets: [FileAccess] = []

    /// Limit of the daemon; nil if unknown.
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

    struct PortSocket: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var user: UInt32
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
        /// Locally answered queries meanwhile; nil if unknown.
        var seenByDaemon: UInt64?
    }

    /// Unit state, as in `systemctl show`.
    struct UnitState: Equatable, Sendable {
        /// `ActiveState`, such as `active` or `failed`.
        var active: String
        /// `SubState`, such as `running` or `auto-restart`.
        var sub = ""
        /// `UnitFileState`; empty if there is no unit.
        var enabled: String
        /// `Result` of the last run, such as `exit-code`.
        var result = "success"
        /// Exit code or signal number.
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

        /// Readable only for root, or the group root.
        var isOnlyForRoot: Bool {
            user == 0 && mode & 0o004 == 0 && (group == 0 || mode & 0o040 == 0)
        }
    }

    struct Interception: Equatable, Sendable {
        var server: ServerAddress
        var transport: Probe.Transport
        var isAnswered: Bool
    }

    // MARK: - Reading

    var status: StatusReply? { try? daemon.get() }

    /// Local addresses; those of the default settings if unknown.
    var servers: [ServerAddress] {
        let known = status.map(SetupServers.listeners) ?? []
        return known.isEmpty ? ["127.0.0.1", "::1"].compactMap { ServerAddress($0) } : known
    }

    /// True on port 53.
    func isDaemon(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return servers.contains { $0.address == address && $0.port == 53 }
    }
}
