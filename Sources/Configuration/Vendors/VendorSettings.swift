// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS
package import Net

/// HTTPDNS vendor account with the options of its client.
package struct VendorSettings: Sendable, Equatable {
    package var name: String

    package var place: SettingsPlace

    package var account = Account.tencent(TencentSettings())

    /// With ports, in order of preference.
    package var servers: [SocketAddress] = []

    /// Sent to the vendor; nil: the vendor uses the source address.
    package var clientSubnet: IPAddress?

    package var timeout = Duration.seconds(2)

    /// Consecutive failures of a server.
    package var retriesBeforeSwitch = 3

    /// Delay of a hedged request.
    package var hedgeAfter = Duration.milliseconds(300)

    /// To the first server.
    package var returnToPrimaryAfter = Duration.seconds(600)

    /// PEM file of trusted CA certificates; nil for the system's.
    package var caFile: String?

    package var http = HTTPVersion.automatic

    /// Proxy environment variables are ignored.
    package var proxy: SocketAddress?

    /// Maximum calls in flight; further names wait.
    package var concurrentCalls = Self.standardConcurrentCalls

    static let standardConcurrentCalls = 32

    /// Nil for no limit.
    package var callsPerSecond: Int?

    package var batching = VendorClient.Batching.waiting

    /// Nil for no limit.
    package var budget: BudgetSettings?

    init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }
}

package struct BudgetSettings: Sendable, Equatable {
    /// Per UTC day.
    package var callsPerDay = 0

    package var onExceeded = Budget.Excess.fallback

    package init() {}
}

// MARK: - Kinds

extension VendorSettings {
    /// A new kind resets the account to its defaults.
    package var kind: VendorKind {
        get { account.kind }
        set { if newValue != kind { account = Account(newValue) } }
    }

    /// Fills in absent servers and ports.
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
