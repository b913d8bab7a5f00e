// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS
package import Net

/// HTTPDNS vendor account with the options of its client.
package struct VendorSettings: Sendable, Equatable {
    /// Name in routes, logs and counters.
    package var name: String

    /// Place in the file.
    package var place: SettingsPlace

    /// Account; its kind decides the protocol.
    package var account = Account.tencent(TencentSettings())

    /// Servers with ports, in order of preference.
    package var servers: [SocketAddress] = []

    /// Client address sent to the vendor; nil: the vendor uses the source address of the call.
    package var clientSubnet: IPAddress?

    /// Time limit for one call.
    package var timeout = Duration.seconds(2)

    /// Consecutive failures after which the next server is preferred.
    package var retriesBeforeSwitch = 3

    /// Time after which the next server is queried, too (hedging).
    package var hedgeAfter = Duration.milliseconds(300)

    /// Time after which the first server is tried again.
    package var returnToPrimaryAfter = Duration.seconds(600)

    /// PEM file of trusted CA certificates; nil for the system's trust store.
    package var caFile: String?

    /// HTTP version.
    package var http = HTTPVersion.automatic

    /// HTTP proxy; proxy environment variables are ignored.
    package var proxy: SocketAddress?

    /// Maximum calls in flight; further names wait.
    package var concurrentCalls = Self.standardConcurrentCalls

    static let standardConcurrentCalls = 32

    /// Maximum calls per second; nil for no limit.
    package var callsPerSecond: Int?

    /// Names that share a call.
    package var batching = VendorClient.Batching.waiting

    /// Nil for no limit.
    package var budget: BudgetSettings?

    init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }
}

/// Limit on the calls to a vendor.
package struct BudgetSettings: Sendable, Equatable {
    /// Calls per UTC day.
    package var callsPerDay = 0

    /// Action when the budget is spent.
    package var onExceeded = Budget.Excess.fallback

    package init() {}
}

// MARK: - Kinds

extension VendorSettings {
    /// The kind; setting another kind resets the account to its defaults.
    package var kind: VendorKind {
        get { account.kind }
        set { if newValue != kind { account = Account(newValue) } }
    }

    /// Fills in the servers and ports that the file does not name.
    mutating func completeServers() {
        account.complete(servers: servers)
        let port = account.any.port
        if servers.isEmpty {
            servers = account.any.documentedServers.compactMap {
                SocketAddress($0, defaultPort: port)
            }
        }
        for index in servers.indices where servers[index].port == 0 { servers[index].port = port }
    }
}

extension VendorClient.Settings {
    /// Makes the settings of a vendor client.
    package init(_ settings: VendorSettings) {
        self.init()
        timeout = settings.timeout
        retriesBeforeSwitch = settings.retriesBeforeSwitch
        hedgeAfter = settings.hedgeAfter
        returnToPrimaryAfter = settings.returnToPrimaryAfter
        clientSubnet = settings.clientSubnet
        certificateFile = settings.caFile
        version = settings.http
        proxy = settings.proxy
        concurrentCalls = settings.concurrentCalls
        callsPerSecond = settings.callsPerSecond
        batching = settings.batching
        budget = settings.budget.map { budget in
            Budget.Rule(
                callsPerDay: UInt64(budget.callsPerDay),
                onExceeded: budget.onExceeded
            )
        }
    }
}
