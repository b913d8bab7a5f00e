// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Client of one vendor: connects the state machines of this folder to the service loop.
///
/// A look-up becomes a pending name, names become a call, and the call sends tries until one of
/// them returns an answer.
@ServiceLoop
package final class VendorClient {
    /// Name of the vendor in the settings.
    package nonisolated let name: String

    /// Properties of the vendor's API.
    package nonisolated let facts: VendorFacts

    let settings: Settings
    let transport: any HTTPTransport
    let clocks: Clocks
    let entropy: Entropy

    /// Vendor API; replaced by its other variant once that variant has worked.
    var vendor: any Vendor

    var pool: EndpointPool

    var gate = AccountBreaker()

    var silence: VendorCircuitBreaker

    var trials: TrialSchedule

    /// Health probe in flight; nil if there is none.
    var trial: VendorCall?

    var skew = ClockSkew()

    var budget: Budget

    var pace: RateLimiter

    /// Clients that share budget and rate.
    var clients = RecentClients()

    var costs = CostTable()

    /// Counters of the servers in `pool`, and of removed servers with tries in flight.
    var records: [SocketAddress: ServerRecord] = [:]

    /// Callback for events; set by the composition root, which logs them.
    package var observer: (@Sendable @ServiceLoop (Notice) -> Void)?

    /// Counters, except those of servers.
    var counters = VendorStatistics()

    /// Client of this vendor under earlier settings, until its calls have ended.
    var predecessor: VendorClient?

    /// Names with pending look-ups, queued or in a call.
    var pending: [BatchQueue.Question: PendingName] = [:]

    /// Names that are not in a call yet.
    var queue = BatchQueue()

    /// True if the queue will be processed in the next turn of the loop.
    var isFlushing = false

    /// Calls without an answer so far.
    var calls: Set<VendorCall> = []
    var shares: CallShares

    var callsBegun: UInt64 = 0

    /// Timer for the next wake-up of any call.
    ///
    /// All calls share one timer, because nearly every call ends before its wake-up.
    lazy var callAlarm = Alarm(clocks) { [weak self] in self?.tickCalls() }

    /// Ended calls with tries in flight.
    var lingering: Set<VendorCall> = []

    /// Timer for the deadlines of queued look-ups.
    lazy var queueAlarm = Alarm(clocks) { [weak self] in self?.expireQueued() }

    /// Scheduling service for server addresses; nil if only the settings are used.
    let source: AddressSource?

    var schedule: AddressSchedule

    /// Address refresh in flight.
    var refresh: (any Cancellable)?

    /// Timer for the next address refresh.
    lazy var refreshAlarm = Alarm(clocks) { [weak self] in self?.refreshAddresses() }

    /// Creates a client; nothing is sent yet.
    ///
    /// - Parameter source: the vendor's scheduling service, queried from ``start()`` on.
    /// - Precondition: there is at least one server, and a scheduling service if it has a source.
    package nonisolated init(
        name: String,
        vendor: any Vendor,
        servers: [SocketAddress],
        settings: Settings,
        transport: any HTTPTransport,
        clocks: Clocks,
        entropy: Entropy = .system,
        source: AddressSource? = nil
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
        schedule = AddressSchedule(lifetime: source?.refresh ?? ClientLimits.addressLifetime)
        shares = CallShares(of: settings.concurrentCalls)
        budget = Budget(settings.budget)
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

// MARK: - Settings

extension VendorClient {
    /// Settings common to all kinds of vendors.
    package struct Settings: Sendable, Hashable {
        /// Timeout of one server.
        package var timeout: Duration = .seconds(2)

        /// Time without an answer after which the next server is also queried.
        package var hedgeAfter: Duration = .milliseconds(300)

        /// Consecutive failures of the current server that make the next server current.
        package var retriesBeforeSwitch = 3

        /// Time after a switch until the primary server is checked again.
        package var returnToPrimaryAfter: Duration = .seconds(600)

        /// Maximum number of calls in flight, at least 1; above it, names wait and share calls.
        package var concurrentCalls = 32

        /// Policy for sharing calls.
        package var batching = Batching.waiting

        /// Daily budget of calls; nil for no limit.
        package var budget: Budget.Rule?

        /// Calls per second, at least 1; nil for no limit.
        package var callsPerSecond: Int?

        /// Client address to send to the vendor instead of the source address.
        package var clientSubnet: IPAddress?

        /// File of PEM certificates to trust instead of the system's store.
        package var certificateFile: String?

        /// Permitted HTTP versions.
        package var version: HTTPVersion = .automatic

        /// HTTP proxy for vendor requests.
        package var proxy: SocketAddress?

        package init() {}
    }

    /// Policy for names that share calls.
    package enum Batching: String, Sendable, Hashable, CaseIterable {
        /// Names share a call only if they must wait for a call in flight to end.
        case waiting

        /// Names from the same turn of the service loop also share a call: fewer calls, but a slow
        /// name or a failed call affects all names of the call.
        case together
    }

    /// Start-up servers of the vendor's scheduling service.
    package struct AddressSource: Sendable, Hashable {
        /// Addresses of the start-up servers; not empty.
        package var servers: [SocketAddress]

        /// Maximum validity of a reply.
        package var refresh: Duration

        package init(servers: [SocketAddress], refresh: Duration = ClientLimits.addressLifetime) {
            self.servers = servers
            self.refresh = refresh
        }
    }

    /// Event that the client reports to its observer.
    package enum Notice: Sendable, Hashable {
        /// The scheduling service returned servers, in this order.
        case servers([SocketAddress])

        /// No start-up server returned servers: the known servers stay in use.
        case noServers(VendorError)

        /// A request failed; `next` is the server queried instead, if any.
        case failed(SocketAddress, VendorError, next: SocketAddress?)

        /// The vendor refuses the account; no calls are made during `pause`.
        case refused(VendorError, pause: Duration)

        /// The vendor's clock is ahead by that many seconds, more than the correctable `limit`.
        case clockRefused(Int64, limit: Int64)

        /// The budget of the day is used up; reported once a day.
        case budgetSpent(Budget.Rule)

        /// A client has reached its limit of the day's budget; reported once a day.
        case shareSpent(Budget.Rule)
    }
}
