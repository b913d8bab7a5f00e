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

    package var hedgeAfter = Duration.milliseconds(300)

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

    package var families = FamilyChoice.automatic

    /// Access key for the vendor's own count; nil for none.
    package var billing: BillingSettings?

    /// Values that replace those of the vendor's price page; nil for none.
    package var price: PriceSettings?

    init(name: String, place: SettingsPlace) {
        self.name = name
        self.place = place
    }
}

/// Access key of the vendor's interface for accounts, which may only read.
package struct BillingSettings: Sendable, Equatable {
    package var accessKeyID: SecretSetting?

    package var accessKeySecret: SecretSetting?

    package init() {}
}

extension VendorSettings {
    /// Call that returns the vendor's own count; nil without an access key.
    package var resolveCount: AlibabaResolveCount? {
        guard let keyID = billing?.accessKeyID, let keySecret = billing?.accessKeySecret else {
            return nil
        }
        return AlibabaResolveCount(keyID: keyID.value, keySecret: keySecret.value)
    }

    /// All secrets with the names of their options.
    var secrets: [(option: String, secret: SecretSetting?)] {
        account.any.secrets + [
            ("billing.access-key-id", billing?.accessKeyID),
            ("billing.access-key-secret", billing?.accessKeySecret),
        ]
    }
}

/// Bill of a vendor; a value that is nil is that of the vendor's page.
package struct PriceSettings: Sendable, Equatable {
    /// Price of 10,000 units.
    package var per10000: Double?

    /// ISO 4217 code.
    package var currency: String?

    /// Free units per calendar month (UTC).
    package var freePerMonth: Int?

    package var weight: Int?

    package init() {}
}

extension PriceSettings {
    /// Returns `page` with the values of the settings.
    package func applied(to page: PriceModel) -> PriceModel {
        var model = page
        if let weight { model.weight = UInt64(weight) }
        if let freePerMonth { model.freePerMonth = UInt64(freePerMonth) }
        if let per10000, let currency {
            model.price = PriceModel.Price(per10000: per10000, currency)
        }
        return model
    }
}

/// Limits on the calls and the billed units of a vendor; a limit that is nil does not apply.
package struct BudgetSettings: Sendable, Equatable {
    /// Calls per UTC day.
    package var callsPerDay: Int?

    /// Billed units per UTC day.
    package var unitsPerDay: Int?

    /// Billed units per calendar month (UTC).
    package var unitsPerMonth: Int?

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
        families = settings.families
        budget = settings.budget.map { budget in
            Budget.Rule(
                callsPerDay: budget.callsPerDay.map { UInt64($0) },
                unitsPerDay: budget.unitsPerDay.map { UInt64($0) },
                unitsPerMonth: budget.unitsPerMonth.map { UInt64($0) },
                onExceeded: budget.onExceeded
            )
        }
    }
}
