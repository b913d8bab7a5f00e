// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Lookup that waits for its result.
@ServiceLoop
final class PendingLookup {
    let question: BatchQueue.Question

    let start: Instant
    let deadline: Instant

    /// True if a next vendor looks up the name after a failure.
    ///
    /// False if the failed vendor is protected, but the next vendor is not.
    let hasNext: Bool

    var wasMerged = false

    private var completion: Completion<VendorClient.Outcome>?

    init(
        _ question: BatchQueue.Question,
        start: Instant,
        deadline: Instant,
        hasNext: Bool,
        _ completion: consuming Completion<VendorClient.Outcome>
    ) {
        self.question = question
        self.start = start
        self.deadline = deadline
        self.hasNext = hasNext
        self.completion = consume completion
    }

    func end() -> Completion<VendorClient.Outcome>? { completion.take() }
}

/// Name with waiting lookups; the name is queued, held for a retry, or in a call.
@ServiceLoop
final class PendingName {
    let question: BatchQueue.Question

    let wanted: Families

    let route: String

    var trace: Trace?

    var lookUps = ShortArray<PendingLookup>()

    /// Nil while the name is queued or held.
    var call: VendorCall?

    var queuedAt: Instant?

    var retries = 0

    init(
        _ question: BatchQueue.Question,
        wanted: Families,
        route: String
    ) {
        self.question = question
        self.wanted = wanted
        self.route = route
    }

    var hasNext: Bool { lookUps.allSatisfy(\.hasNext) }

    var firstDeadline: Instant? { lookUps.lazy.map(\.deadline).min() }

    var lastDeadline: Instant? { lookUps.lazy.map(\.deadline).max() }
}

/// Call to the vendor; ``VendorClient`` keeps this object until the last request has ended.
@ServiceLoop
final class VendorCall {
    struct RunningTry {
        let number: Int
        let attempt: EndpointPool.Attempt
        let request: any RequestHandle
        let start: Instant
        let until: Instant
    }

    let lookup: VendorQuery

    let charges: ShortArray<CostTable.Charge>

    var trace: Trace?

    var names: [PendingName]

    /// Nil for the daemon itself.
    let client: ClientNetwork?

    var course: AttemptPlan

    /// Oldest first.
    var running = ShortArray<RunningTry>()

    var failed: [VendorError] = []

    /// Failure that a limit of concurrent calls may have caused.
    ///
    /// The first such failure is kept. Exception: a later one replaces a failure to connect.
    var saturation: VendorError?

    /// True if a request failed with an error that a limit of concurrent calls cannot cause.
    var hasOtherFailure = false

    var wasAnswered = false

    var refusals: [SocketAddress] = []

    /// Hedged requests that count against the limit of ``client``.
    var hedges = 0

    let isTrial: Bool

    let isAccountTrial: Bool

    var index: Int?

    var isInFlight: Bool { index != nil }

    /// True if the lookups reached their deadlines while requests were in flight.
    ///
    /// The call counts against `concurrent-calls` until the requests end.
    var isExpired = false

    var start: Instant

    var suspectAt: Instant?

    /// Incremented when all requests are cancelled; results of an earlier round are ignored.
    var round = 0

    var restarts = 0

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
        // Unlike `map`, a loop needs no check of the executor.
        var charges = ShortArray<CostTable.Charge>()
        for name in names {
            charges.append(CostTable.Charge(name: name.question.name, route: name.route))
            if trace == nil { trace = name.trace }
        }
        self.charges = charges
        self.course = course
        self.start = start
        self.suspectAt = suspectAt
        isTrial = false
        isAccountTrial = false
    }

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
        charges = ShortArray(lookup.names.map { CostTable.Charge(name: $0, route: "") })
        self.course = course
        self.start = start
        self.client = client
        isTrial = true
        isAccountTrial = isOfAccount
    }
}

extension VendorCall {
    func takeTry(_ number: Int) -> RunningTry? {
        // A loop avoids the executor check in the closure of `firstIndex`.
        for index in running.indices where running[index].number == number {
            return running.remove(at: index)
        }
        return nil
    }
}

extension VendorCall: Hashable {
    nonisolated static func == (first: VendorCall, second: VendorCall) -> Bool { first === second }

    nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

@ServiceLoop
final class ServerRecord {
    var statistics: ServerStatistics

    let latency = LatencyHistogram()

    var answeredAt: Instant?

    init(_ server: SocketAddress) {
        statistics = ServerStatistics(address: server)
    }
}
