// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Pending look-up of one caller, with its completion handler.
@ServiceLoop
final class PendingLookup {
    let question: BatchQueue.Question

    let start: Instant
    let deadline: Instant

    /// True if the look-up joined a pending name.
    var wasMerged = false

    /// Completion handler; nil once taken.
    private var completion: VendorClient.Completion?

    init(
        _ question: BatchQueue.Question,
        start: Instant,
        deadline: Instant,
        _ completion: @escaping VendorClient.Completion
    ) {
        self.question = question
        self.start = start
        self.deadline = deadline
        self.completion = completion
    }

    /// Ends the look-up and returns its completion handler; nil if it has already ended.
    func end() -> VendorClient.Completion? {
        defer { completion = nil }
        return completion
    }
}

/// Name with pending look-ups, queued or in a call.
@ServiceLoop
final class PendingName {
    let question: BatchQueue.Question

    /// Families that the first look-up requested.
    let wanted: Families

    /// Route of the first look-up, to which the call is charged.
    let route: String

    /// Trace of the latest look-up that has one.
    var trace: Trace?

    /// Pending look-ups; the name is removed with the last one.
    var lookUps: [PendingLookup] = []

    /// Call that carries the name; nil while the name is queued.
    weak var call: VendorCall?

    init(
        _ question: BatchQueue.Question,
        wanted: Families,
        route: String
    ) {
        self.question = question
        self.wanted = wanted
        self.route = route
    }

    var firstDeadline: Instant? { lookUps.lazy.map(\.deadline).min() }

    var lastDeadline: Instant? { lookUps.lazy.map(\.deadline).max() }
}

/// Call to the vendor, from its first try until its last try has ended.
@ServiceLoop
final class VendorCall {
    /// Request in flight.
    struct RunningTry {
        let attempt: EndpointPool.Attempt
        let request: any Cancellable
        let start: Instant
        let until: Instant
    }

    let lookup: VendorQuery

    /// Charges of the call, one for each name.
    let charges: [CostTable.Charge]

    /// Trace of the call; usually nil.
    var trace: Trace?

    /// Names with pending look-ups, in the order of the call.
    var names: [PendingName]

    /// Client whose limits apply; nil for the daemon's own look-ups.
    let client: ClientNetwork?

    var course: AttemptPlan

    var running: [Int: RunningTry] = [:]

    var failed: [FailedTry] = []

    /// True if the call is a health probe.
    let isTrial: Bool

    /// True if the end of the call decides whether the vendor accepts the account.
    let isAccountTrial: Bool

    /// Start of the call, or of its restart after a network change.
    var start: Instant

    /// Time at which a health probe starts if no reply arrived since `start`; nil afterwards.
    var suspectAt: Instant?

    /// Number of restarts; tries of an earlier round are ignored.
    var round = 0

    /// Time of the next hedged request, suspicion or caller's deadline.
    var wake: Instant?

    let number: UInt64

    init(
        _ number: UInt64,
        _ lookup: VendorQuery,
        names: [PendingName],
        of client: ClientNetwork?,
        course: AttemptPlan,
        start: Instant,
        suspectAt: Instant
    ) {
        self.number = number
        self.lookup = lookup
        self.names = names
        self.client = client
        trace = names.lazy.compactMap(\.trace).first
        charges = names.map { CostTable.Charge(name: $0.question.name, route: $0.route) }
        self.course = course
        self.start = start
        self.suspectAt = suspectAt
        isTrial = false
        isAccountTrial = false
    }

    /// Creates a health probe for the suspicion that a name of `client` raised, if any.
    init(
        trial number: UInt64,
        _ lookup: VendorQuery,
        of client: ClientNetwork?,
        _ course: AttemptPlan,
        isOfAccount: Bool,
        _ start: Instant
    ) {
        self.number = number
        self.lookup = lookup
        names = []
        charges = lookup.names.map { CostTable.Charge(name: $0, route: "") }
        self.course = course
        self.start = start
        self.client = client
        isTrial = true
        isAccountTrial = isOfAccount
    }
}

extension VendorCall: Hashable {
    nonisolated static func == (first: VendorCall, second: VendorCall) -> Bool { first === second }

    nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// Counters and latency of one server.
@ServiceLoop
final class ServerRecord {
    var statistics: ServerStatistics

    let latency = LatencyHistogram()

    init(_ server: SocketAddress) {
        statistics = ServerStatistics(address: server)
    }
}
