// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// HTTP client of one vendor, which connects the state machines of this folder to the service loop.
@ServiceLoop
package final class VendorClient {
    package nonisolated let name: String

    /// Name under which the transport limits the connections and the memory of this vendor.
    nonisolated let provider: String

    package nonisolated let facts: VendorFacts

    let settings: Settings
    let transport: any HTTPTransport
    let clocks: Clocks
    let entropy: Entropy

    var vendor: any Vendor

    var pool: EndpointPool

    var gate = AccountBreaker()

    var silence: VendorCircuitBreaker

    var trials: TrialSchedule

    var trial: VendorCall?

    /// True after all servers sent useless replies to a health probe, until a server answers.
    ///
    /// A call is then sent to one server only, because the vendor can bill such replies.
    var areAllUseless = false

    var skew = ClockSkew()

    var budget: Budget

    package nonisolated let price: PriceModel

    var pace: RateLimiter

    var hedges: HedgeBudget

    var avoided: AvoidedServers

    var clients = RecentClients()

    var costs = CostTable()

    var demand = FamilyDemand()

    /// Client address in the latest reply to a request with the configured client subnet.
    var clientAddress: IPAddress?

    /// Includes removed servers with requests in flight.
    var records: [SocketAddress: ServerRecord] = [:] {
        didSet { latestRecord = nil }
    }

    private var latestRecord: ServerRecord?

    func record(of server: SocketAddress) -> ServerRecord? {
        if let latestRecord, latestRecord.statistics.address == server { return latestRecord }
        latestRecord = records[server]
        return latestRecord
    }

    package var observer: (@Sendable @ServiceLoop (Notice) -> Void)?

    var counters = VendorStatistics()

    /// Client of this vendor under earlier settings, until its calls have ended.
    var predecessor: VendorClient?

    var pending: [BatchQueue.Question: PendingName] = [:]

    var queue = BatchQueue()

    var isFlushing = false

    var isSending = false

    var calls: [VendorCall] = []
    var shares: CallShares

    var held = HeldNames()

    var callsBegun: UInt64 = 0

    /// Time from the start of a call to a health probe, if the vendor does not reply.
    let suspicionTime: Duration

    var suspectedCalls: UInt64 = 0

    /// True if a queued name has upstreams as fallback.
    var hasQueuedFallback = false

    lazy var callAlarm = Alarm(clocks) { [weak self] in self?.tickCalls() }

    /// Calls that have ended, but still have requests in flight.
    var lingering: Set<VendorCall> = []

    lazy var queueAlarm = Alarm(clocks) { [weak self] in self?.expireQueued() }

    /// Nil if all servers are in the settings.
    let source: AddressSource?

    package let hasIPv6: @Sendable () -> Bool

    var schedule: AddressSchedule

    var refresh: (any Cancellable)?

    lazy var refreshAlarm = Alarm(clocks) { [weak self] in self?.refreshAddresses() }

    /// Creates a client, which sends no request before a lookup or ``start()``.
    ///
    /// - Precondition: there is at least one server. With a `source`, the vendor has a scheduling
    ///   service.
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
        provider = "vendor \(name)"
        self.vendor = vendor
        facts = vendor.facts
        self.settings = settings
        suspicionTime = settings.timeout / 2
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
        // One DNS client can have half of the concurrent calls. The burst permits a hedged request
        // for each of these calls. The burst is at least `retriesBeforeSwitch`: after this number of
        // hedged requests, the calls of the client avoid a slow server.
        hedges = HedgeBudget(
            burst: max((settings.concurrentCalls + 1) / 2, settings.retriesBeforeSwitch)
        )
        avoided = AvoidedServers(
            limit: settings.retriesBeforeSwitch,
            duration: settings.returnToPrimaryAfter
        )
        trials = TrialSchedule(burst: settings.retriesBeforeSwitch)
        silence = VendorCircuitBreaker(
            limit: settings.retriesBeforeSwitch * (servers.count + (source == nil ? 0 : 1))
        )
        pool = EndpointPool(
            servers: servers,
            failuresBeforeSwitch: settings.retriesBeforeSwitch,
            returnAfter: settings.returnToPrimaryAfter
        )
    }
}

// MARK: - Families

extension VendorClient {
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

    package func maximumUnits(_ name: Name, wanted: Families, _ choice: FamilyChoice?) -> UInt64 {
        let families = families(name, wanted: wanted, choice, now: clocks.now())
        return price.total(VendorQuery(names: [name], families: families))
    }

    var countsDemand: Bool { facts.pairsFamilies || price.item == .family }

    /// Returns the families that `lookUp` would request.
    ///
    /// If `isAwaited`, also records that a client wants the families, as `lookUp` does.
    package func familiesOfCall(
        _ name: Name,
        _ wanted: Families,
        _ choice: FamilyChoice?,
        isAwaited: Bool
    ) -> Families {
        let now = clocks.now()
        if isAwaited, countsDemand { demand.note(name, wanted, now: now) }
        return families(name, wanted: wanted, choice, now: now)
    }

    /// Network from which the vendor sees the calls, such as `203.0.113.0/24`; nil if unknown.
    package var exit: IPPrefix? {
        clientAddress.flatMap { address in
            IPPrefix(
                containing: address.unmapped,
                length: address.unmapped.octets.count == 4 ? 24 : 48
            )
        }
    }

    package var probeName: Name { vendor.trialName }

    package var maximumProbeUnits: UInt64 { price.total(probe) }

    package var shareOfNamesWithBothFamilies: Double { demand.shareOfBoth }

    /// Returns true if clients want the family, or if a refresh of the family has no extra cost.
    package func isWorthRefreshing(_ name: Name, _ family: Families, _ choice: FamilyChoice?)
        -> Bool
    {
        guard facts.pairsFamilies, (choice ?? settings.families) != .both else { return true }
        return price.pairsForFree || demand.includes(name, family, now: clocks.now())
    }
}

// MARK: - Settings

extension VendorClient {
    package struct Settings: Sendable, Hashable {
        package var timeout: Duration = .seconds(2)

        package var hedgeAfter: Duration = .milliseconds(300)

        package var retriesBeforeSwitch = 3

        package var returnToPrimaryAfter: Duration = .seconds(600)

        /// At least 1.
        package var concurrentCalls = 32

        package var batching = Batching.off

        package var budget: Budget.Rule?

        /// Nil for the rules of the vendor's price page.
        package var price: PriceModel?

        package var families = FamilyChoice.automatic

        /// At least 1; nil for no limit.
        package var callsPerSecond: Int?

        package var clientSubnet: IPAddress?

        /// PEM certificates that replace the system's trust store.
        package var certificateFile: String?

        package var version: HTTPVersion = .automatic

        package var proxy: SocketAddress?

        var isBudgetStrict: Bool { budget?.onExceeded == .fallback }

        package init() {}
    }

    package enum Batching: String, Sendable, Hashable, CaseIterable {
        case off

        /// Names share a call only if they had to wait for a free call.
        case waiting

        /// Names of one iteration of the service loop share a call; one slow name delays all of
        /// them.
        case together
    }

    package struct AddressSource: Sendable, Hashable {
        /// Never empty.
        package var servers: [SocketAddress]

        package var refresh: Duration

        package init(servers: [SocketAddress], refresh: Duration = ClientLimits.addressLifetime) {
            self.servers = servers
            self.refresh = refresh
        }
    }

    package enum Notice: Sendable, Hashable {
        case servers([SocketAddress])

        /// The known servers stay in use.
        case noServers(VendorError)

        case failed(SocketAddress, VendorError, next: SocketAddress?)

        case refused(VendorError, pause: Duration)

        /// The first value is the number of seconds by which the vendor's clock is ahead.
        case clockRefused(Int64, limit: Int64)

        case budgetSpent(Budget.Rule)

        /// At most one report per day.
        case usageUnknown(String, Budget.Rule)

        case shareSpent(Budget.Rule)
    }
}
