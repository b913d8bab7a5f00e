// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS
package import Net

/// An account with a vendor of HTTPDNS, and how it is used.
package struct VendorSettings: Sendable, Equatable {
    /// What routes, logs and counters call it.
    package var name: String

    /// Where it stands in the file.
    package var place: SettingsPlace

    /// Whose protocol it speaks, and with which account.
    package var account = Account.tencent(TencentSettings())

    /// The vendor's servers in the order of preference, each with its port.
    package var servers: [SocketAddress] = []

    /// The client's address that the vendor is told; nil: it sees our own.
    package var clientSubnet: IPAddress?

    /// How long one call may take.
    package var timeout = Duration.seconds(2)

    /// Failures in a row after which the next server becomes the first choice.
    package var retriesBeforeSwitch = 3

    /// How long one server is waited for alone.
    package var hedgeAfter = Duration.milliseconds(300)

    /// How long another server than the first stays the first choice.
    package var returnToPrimaryAfter = Duration.seconds(600)

    /// PEM file of the certificates to trust instead of the system's store.
    package var caFile: String?

    /// The versions of HTTP that may be spoken.
    package var http = HTTPVersion.automatic

    /// The HTTP proxy that calls go through; nil: none, whatever the environment says.
    package var proxy: SocketAddress?

    /// Calls under way, beyond which names wait.
    package var concurrentCalls = 32

    /// Calls a second; nil for any number.
    package var callsPerSecond: Int?

    /// Which names share a call.
    package var batching = VendorClient.Batching.waiting

    /// What may be spent; nil for any number of calls.
    package var budget: BudgetSettings?

    package init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }
}

/// What the calls of a vendor may cost.
package struct BudgetSettings: Sendable, Equatable {
    /// Calls a day of UTC.
    package var callsPerDay = 0

    /// What happens to calls beyond them.
    package var onExceeded = Budget.Excess.fallback

    package init() {}
}

// MARK: - Kinds

extension VendorSettings {
    /// Whose protocol is spoken; another kind starts with an account at its defaults.
    var kind: VendorKind {
        get { account.kind }
        set { if newValue != kind { account = Account(newValue) } }
    }

    /// Puts servers and ports where the file left them to the kind of account.
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
