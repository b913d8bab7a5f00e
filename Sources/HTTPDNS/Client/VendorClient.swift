// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Asks one vendor: chooses servers, keeps deadlines, hedges, batches, stays in budget and counts.
///
/// The rules are state machines without clock and network (``EndpointPool``, ``Course``,
/// ``BatchQueue``, `AccountGate`, `TrialSchedule`, `ClockSkew`, ``Budget``, ``AddressSchedule``); this is the shell
/// around them.  A look-up becomes a name that waits, a name becomes part of a call, and a call
/// sends tries until one of them brings an answer.
@ServiceLoop
package final class VendorClient {
    /// The operator's name for this vendor.
    package nonisolated let name: String

    /// The facts of the vendor's API.
    package nonisolated let facts: VendorFacts

    let settings: Settings
    let transport: any HTTPTransport
    let clocks: Clocks
    let entropy: Entropy

    /// The account; in its other way once that has proved to be the right one.
    var vendor: any Vendor

    /// Which server is asked.
    var pool: EndpointPool

    /// Whether the vendor is asked at all.
    var gate = AccountGate()

    /// Whether anything is heard of the vendor.
    var silence: Silence

    /// When the vendor is asked the daemon's own question.
    var trials: TrialSchedule

    /// The call that asks it; nil if none is under way.
    var trial: VendorCall?

    /// How far the vendor's clock is from ours.
    var skew = ClockSkew()

    /// What may be spent.
    var budget: Budget

    /// What may be sent a second.
    var pace: Pace

    /// What each name has cost.
    var costs = CostTable()

    /// What is known of each server; exactly those of `pool`, and others that tries still run on.
    var records: [SocketAddress: ServerRecord] = [:]

    /// Told of what happens without being asked for; the composition root's, which logs.
    package var observer: (@Sendable @ServiceLoop (Notice) -> Void)?

    /// The counters, except those of servers.
    var counters = VendorStatistics()

    /// The client that was the vendor's under earlier settings, until its calls have ended.
    var predecessor: VendorClient?

    /// Every name that somebody waits for, queued or in a call.
    var pending: [BatchQueue.Question: PendingName] = [:]

    /// The names that are in no call yet.
    var queue = BatchQueue()

    /// Whether the queue will be looked at in the next turn of the loop.
    var isFlushing = false

    /// Calls without an answer so far.
    var calls: Set<VendorCall> = []

    /// How many calls there have been.
    var callsBegun: UInt64 = 0

    /// Rings when a call is to be looked at.
    ///
    /// One for all: nearly every call has ended by then, and so takes no timer of its own.
    lazy var callAlarm = Alarm(clocks) { [weak self] in self?.tickCalls() }

    /// Calls that are over, but for tries that still run.
    var lingering: Set<VendorCall> = []

    /// Ends the waiting of queued look-ups.
    lazy var queueAlarm = Alarm(clocks) { [weak self] in self?.expireQueued() }

    /// Where servers' addresses come from, besides the settings.
    let source: AddressSource?

    /// When they are asked for.
    var schedule: AddressSchedule

    /// The request for them that is under way.
    var refresh: (any Cancellable)?

    /// Begins the next one.
    lazy var refreshAlarm = Alarm(clocks) { [weak self] in self?.refreshAddresses() }

    /// Makes a client; nothing is sent yet.
    ///
    /// - Parameter source: where the vendor's scheduling service is, asked from ``start()`` on.
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
        precondition(source == nil || vendor.scheduling != nil, "the vendor names no servers")
        self.name = name
        self.vendor = vendor
        facts = vendor.facts
        self.settings = settings
        self.transport = transport
        self.clocks = clocks
        self.entropy = entropy
        self.source = source
        schedule = AddressSchedule(lifetime: source?.refresh ?? ClientLimits.addressLifetime)
        budget = Budget(settings.budget)
        pace = Pace(perSecond: settings.callsPerSecond)
        trials = TrialSchedule(burst: settings.retriesBeforeSwitch)
        silence = Silence(limit: settings.retriesBeforeSwitch * servers.count)
        pool = EndpointPool(
            servers: servers,
            failuresBeforeSwitch: settings.retriesBeforeSwitch,
            returnAfter: settings.returnToPrimaryAfter
        )
    }
}

// MARK: - What it is given

extension VendorClient {
    /// What an operator can set for every kind of vendor.
    package struct Settings: Sendable, Hashable {
        /// The longest wait for one server.
        package var timeout: Duration = .seconds(2)

        /// How long one server may be silent before the next one is asked, too.
        package var hedgeAfter: Duration = .milliseconds(300)

        /// Failures in a row of the current server that make the next one current.
        package var retriesBeforeSwitch = 3

        /// How long another server than the first stays current before the first is tried again.
        package var returnToPrimaryAfter: Duration = .seconds(600)

        /// Calls in flight, at least 1; names that come while there are as many share calls.
        package var concurrentCalls = 32

        /// Which names share calls.
        package var batching = Batching.waiting

        /// How many calls a day may cost; nil for any number.
        package var budget: Budget.Rule?

        /// How many calls a second may have, at least 1; nil for any number.
        package var callsPerSecond: Int?

        /// The address to answer for, instead of the one the vendor sees.
        package var clientSubnet: IPAddress?

        /// File of PEM certificates to trust instead of the system's store.
        package var certificateFile: String?

        /// The versions of HTTP that may be spoken.
        package var version: HTTPVersion = .automatic

        /// An HTTP proxy between us and the servers.
        package var proxy: SocketAddress?

        package init() {}
    }

    /// Which names share calls.
    package enum Batching: String, Sendable, Hashable, CaseIterable {
        /// Those that have to wait for a place among the calls in flight.
        case waiting

        /// Those that come in the same turn of the loop, too: fewer calls, but a name that the
        /// vendor is slow about, or a call that fails, then holds up its company.
        case together
    }

    /// Whom to ask for the servers that the vendor's scheduling service names.
    package struct AddressSource: Sendable, Hashable {
        /// The start-up servers; not empty.
        package var servers: [SocketAddress]

        /// How long the service's word is taken at most.
        package var refresh: Duration

        package init(servers: [SocketAddress], refresh: Duration = ClientLimits.addressLifetime) {
            self.servers = servers
            self.refresh = refresh
        }
    }

    /// What happens to a client without anybody having asked for it.
    package enum Notice: Sendable, Hashable {
        /// The vendor told its servers, in its order.
        case servers([SocketAddress])

        /// No start-up server told them: those that are known stay in use.
        case noServers(VendorError)

        /// A request brought nothing; `next` is the server that is asked in its place, if one is.
        case failed(SocketAddress, VendorError, next: SocketAddress?)

        /// The vendor refuses the account, so it is left alone for as long.
        case refused(VendorError, pause: Duration)

        /// The vendor's clock is ahead of ours by so many seconds, more than `limit` that are repaired.
        case clockRefused(Int64, limit: Int64)

        /// The calls of this day are spent; told once a day.
        case budgetSpent(Budget.Rule)
    }
}
