// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Client of one vendor: connects the state machines of this folder to the service loop.
///
/// Look-ups become names, names become a call, and a call sends tries until one is answered.
@ServiceLoop
package final class VendorClient {
    package nonisolated let name: String

    package nonisolated let facts: VendorFacts

    let settings: Settings
    let transport: any HTTPTransport
    let clocks: Clocks
    let entropy: Entropy

    /// API variant that worked last.
    var vendor: any Vendor

    var pool: EndpointPool

    var gate = AccountBreaker()

    var silence: VendorCircuitBreaker

    var trials: TrialSchedule

    var trial: VendorCall?

    var skew = ClockSkew()

    var budget: Budget

    /// Rules by which the vendor counts units.
    package nonisolated let price: PriceModel

    var pace: RateLimiter

    /// Recent clients, for the limits per client.
    var clients = RecentClients()

    var costs = CostTable()

    var demand = FamilyDemand()

    /// Client address in the latest reply, if the request had the client subnet of the settings.
    var clientAddress: IPAddress?

    /// Counters of the servers in `pool`, and of removed servers with tries in flight.
    var records: [SocketAddress: ServerRecord] = [:]

    /// Event handler; its owner logs the events.
    package var observer: (@Sendable @ServiceLoop (Notice) -> Void)?

    /// Counters without those of servers.
    var counters = VendorStatistics()

    /// Client under earlier settings, until its calls have ended.
    var predecessor: VendorClient?

    var pending: [BatchQueue.Question: PendingName] = [:]

    /// Names without a call.
    var queue = BatchQueue()

    /// True if the queue is due in the next iteration of the loop.
    var isFlushing = false

    /// Calls without an answer.
    var calls: Set<VendorCall> = []
    var shares: CallShares

    var callsBegun: UInt64 = 0

    /// One timer, because nearly every call ends before its wake-up.
    lazy var callAlarm = Alarm(clocks) { [weak self] in self?.tickCalls() }

    /// Ended calls with tries in flight.
    var lingering: Set<VendorCall> = []

    lazy var queueAlarm = Alarm(clocks) { [weak self] in self?.expireQueued() }

    /// Scheduling service; nil if only the settings name servers.
    let source: AddressSource?

    /// Returns true if the machine can reach IPv6 addresses of the Internet.
    package let hasIPv6: @Sendable () -> Bool

    var schedule: AddressSchedule

    var refresh: (any Cancellable)?

    lazy var refreshAlarm = Alarm(clocks) { [weak self] in self?.refreshAddresses() }

    /// Creates a client; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - source: the vendor's scheduling service, queried from ``start()`` on.
    ///   - usage: counts of the budget, shared with other processes.
    ///   - hasIPv6: returns true if the machine has IPv6 connectivity.
    /// - Precondition: there is at least one server, and a scheduling service if it has a source.
    package nonisolated init(
        name: String,
        vendor: any Vendor,
        servers: [SocketAddress],
        settings: Settings,
        transport: any HTTPTransport,
        clocks: Clocks,
        entropy: Entropy = .system,
        source: AddressSource? = nil,
        usage: any UsageStore = UsageMemory(),
        hasIPv6: @escaping @Sendable () -> Bool = { false }
    ) {
        precondition(source == nil || vendor.scheduling != nil, "no scheduling service")
        self.name = name
        self.vendor = vendor
        facts = vendor.facts
        self.settings = settings
        self.transport = transport
        self.clocks = clocks
        self.entropy = entropy
        self.source = source
        self.hasIPv6 = hasIPv6
        schedule = AddressSchedule(lifetime: source?.refresh ?? ClientLimits.addressLifetime)
        shares = CallShares(of: settings.concurrentCalls)
        let price = settings.price ?? vendor.price
        self.price = price
        budget = Budget(
            settings.budget,
            vendor: name,
            cheapest: price.weight,
            store: usage
        )
        pace = RateLimiter(perSecond: settings.callsPerSecond)
        trials = TrialSchedule(burst: settings.retriesBeforeSwitch)
        silence = VendorCircuitBreaker(limit: settings.retriesBeforeSwitch * servers.count)
        pool = EndpointPool(
            servers: servers,
            failuresBeforeSwitch: settings.retriesBeforeSwitch,
            returnAfter: settings.returnToPrimaryAfter
        )
    }
}

// MARK: - Families

extension VendorClient {
    /// Returns the families to request for a client that wants `wanted`.
    ///
    /// - Parameter choice: the setting of the route; nil for the setting of the vendor.
    func families(
        _ name: Name,
        wanted: Families,
        _ choice: FamilyChoice?,
        now: Instant
    ) -> Families {
        guard facts.pairsFamilies else { return wanted }
        switch choice ?? settings.families {
        case .both: return .both
        case .v4, .v6: return wanted
        case .automatic:
            if price.pairsForFree { return .both }
            return demand.includes(name, .both, now: now) && hasIPv6() ? .both : wanted
        }
    }

    /// Returns the largest number of units of a request for a client that wants `wanted`.
    ///
    /// - Parameter choice: the setting of the route; nil for the setting of the vendor.
    package func maximumUnits(_ name: Name, wanted: Families, _ choice: FamilyChoice?) -> UInt64 {
        let families = families(name, wanted: wanted, choice, now: clocks.now())
        return price.maximum(VendorQuery(names: [name], families: families)).reduce(0, +)
    }

    /// Name of health probes.
    package var probeName: Name { vendor.trialName }

    /// Largest number of units of a health probe.
    package var maximumProbeUnits: UInt64 { price.maximum(probe).reduce(0, +) }

    /// Share of the names for which clients lately wanted both families, 0 to 1.
    package var shareOfNamesWithBothFamilies: Double { demand.shareOfBoth }

    /// Returns true if a refresh of the family serves clients, or costs nothing.
    package func isWorthRefreshing(_ name: Name, _ family: Families, _ choice: FamilyChoice?)
        -> Bool
    {
        guard facts.pairsFamilies, (choice ?? settings.families) != .both else { return true }
        return price.pairsForFree || demand.includes(name, family, now: clocks.now())
    }
}

// MARK: - Settings

extension VendorClient {
    /// Settings of all kinds of vendors.
    package struct Settings: Sendable, Hashable {
        package var timeout: Duration = .seconds(2)

        /// Time without an answer before a hedged request.
        package var hedgeAfter: Duration = .milliseconds(300)

        package var retriesBeforeSwitch = 3

        /// Time until the primary server is checked.
        package var returnToPrimaryAfter: Duration = .seconds(600)

        /// Maximum number of calls in flight, at least 1.
        package var concurrentCalls = 32

        /// Policy for shared calls.
        package var batching = Batching.waiting

        /// Budget of calls and units; nil for no limit.
        package var budget: Budget.Rule?

        /// Rules of the bill in the settings; nil for those of the vendor's page.
        package var price: PriceModel?

        /// Address families to request.
        package var families = FamilyChoice.automatic

        /// Calls per second, at least 1; nil for no limit.
        package var callsPerSecond: Int?

        /// Address that the vendor uses instead of the source address.
        package var clientSubnet: IPAddress?

        /// PEM certificates to trust instead of the system's store.
        package var certificateFile: String?

        package var version: HTTPVersion = .automatic

        package var proxy: SocketAddress?

        package init() {}
    }

    /// Policy for shared calls.
    package enum Batching: String, Sendable, Hashable, CaseIterable {
        /// Only names that must wait share a call.
        case waiting

        /// Names of one iteration of the loop share a call: fewer calls, but a slow name or a
        /// failure affects all.
        case together
    }

    /// Scheduling service of a vendor.
    package struct AddressSource: Sendable, Hashable {
        /// Start-up servers; not empty.
        package var servers: [SocketAddress]

        /// Maximum validity of a reply.
        package var refresh: Duration

        package init(servers: [SocketAddress], refresh: Duration = ClientLimits.addressLifetime) {
            self.servers = servers
            self.refresh = refresh
        }
    }

    /// Event for the observer.
    package enum Notice: Sendable, Hashable {
        /// The scheduling service returned servers.
        case servers([SocketAddress])

        /// The refresh failed; the known servers stay in use.
        case noServers(VendorError)

        /// A request failed; `next` is queried instead.
        case failed(SocketAddress, VendorError, next: SocketAddress?)

        /// The vendor refuses the account.
        case refused(VendorError, pause: Duration)

        /// Seconds by which the vendor's clock is ahead, above `limit`.
        case clockRefused(Int64, limit: Int64)

        /// Reported once a day.
        case budgetSpent(Budget.Rule)

        /// The counts of the budget are unknown for this reason; reported once a day.
        case usageUnknown(String, Budget.Rule)

        /// A client reached its limit; reported once a day.
        case shareSpent(Budget.Rule)
    }
}
