// SPDX-License-Identifier: Apache-2.0
import Control
import DNSWire

struct MachineFacts: Sendable {
    var isRoot = true

    /// False if the facts are about a machine image in a directory.
    var isLive = true

    var daemon: Result<StatusReply, Failure> = .failure(
        Failure(message: "not queried", status: .unreachable)
    )

    /// Vendors that returned no address in at least 20 lookups, mapped to the count of lookups.
    var emptyVendors: [String: UInt64] = [:]

    var version = Product.version
    var answers: [ListenerAnswer] = []
    var sockets: [PortSocket] = []
    var processes: Set<String> = []
    var resolver = ResolverFacts()
    var journal: SetupJournal?

    var lostOriginals: [String] = []

    var changedFiles: [String] = []
    var nsswitch: String?
    var nscd: String?
    var environment: [String: String] = [:]
    var proxies: [ProxySetting] = []
    var lookup: SystemLookup?
    var containerFiles: [String: String] = [:]
    var unit: UnitState?
    var socket: FileAccess?
    var socketPath = Product.defaultSocket

    /// Reply of the daemon to the method `Check`; nil if the daemon did not check the file.
    var settingsCheck: ReloadReply?

    /// Result of `httpdnsd --check`; nil if the program did not run or did not end in time.
    var settings: Subprocess.Outcome?

    var settingsPath = Self.settings
    var closedSettings: [String] = []
    var hasSettings = true
    var secrets: [FileAccess] = []
    var descriptors: Int?
    var isClockSynchronised: Bool?
    var certificateStores: [String] = []
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
        var duration: Duration?
        /// Addresses that the daemon returns for `name`; nil without `--name` or after a failure.
        var expected: Set<IPAddress>?
        /// Number of queries that the daemon answered locally during the lookup; nil if unknown.
        var seenByDaemon: UInt64?
    }

    struct UnitState: Equatable, Sendable {
        var active: String
        var sub = ""
        /// systemd's `UnitFileState`; empty if the unit does not exist.
        var enabled: String
        var result = "success"
        var code = 0
        var hasOwnUser = false
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

    /// Addresses at which local programs query the daemon; the defaults if the daemon reports none.
    var servers: [ServerAddress] {
        let known = status.map(SetupServers.listeners) ?? []
        return known.isEmpty ? ["127.0.0.1", "::1"].compactMap { ServerAddress($0) } : known
    }

    func isDaemon(_ text: String) -> Bool {
        guard let address = IPAddress(text) else { return false }
        return servers.contains { $0.address == address && $0.port == 53 }
    }
}
