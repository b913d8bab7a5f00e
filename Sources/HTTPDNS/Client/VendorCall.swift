// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// One who asked, until he is told.
@ServiceLoop
final class LookUp {
    /// What is asked.
    let question: BatchQueue.Question

    /// When it was asked, and until when there is time.
    let start: ContinuousClock.Instant
    let deadline: ContinuousClock.Instant

    /// Whether it joined those who waited already.
    var wasMerged = false

    /// Who is to be told; nil once he was.
    private var tell: VendorClient.Tell?

    init(
        _ question: BatchQueue.Question,
        start: ContinuousClock.Instant,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping VendorClient.Tell
    ) {
        self.question = question
        self.start = start
        self.deadline = deadline
        self.tell = tell
    }

    /// Ends the wait, and says who is to be told; nil if it was over already.
    func end() -> VendorClient.Tell? {
        defer { tell = nil }
        return tell
    }
}

/// A name that somebody waits for.
@ServiceLoop
final class PendingName {
    let question: BatchQueue.Question

    /// The client that the name counts against; nil for the daemon itself.
    let client: AnyHashable?

    /// The families that the first of them wanted.
    let wanted: Families

    /// The route that sent the first of them here, whom the call is charged to.
    let route: String

    /// Told of the call; the one of whoever came last with one.
    var trace: Trace?

    /// Those who wait; when the last one is gone, so is the name.
    var lookUps: [LookUp] = []

    /// The call that asks for it; nil while it is queued.
    weak var call: VendorCall?

    init(
        _ question: BatchQueue.Question,
        of client: AnyHashable?,
        wanted: Families,
        route: String
    ) {
        self.question = question
        self.client = client
        self.wanted = wanted
        self.route = route
    }

    /// The earliest end of a wait.
    var firstDeadline: ContinuousClock.Instant? { lookUps.lazy.map(\.deadline).min() }

    /// The latest end of a wait.
    var lastDeadline: ContinuousClock.Instant? { lookUps.lazy.map(\.deadline).max() }
}

/// One question to the vendor, from its first try until its last one has ended.
@ServiceLoop
final class VendorCall {
    /// One request that is under way.
    struct RunningTry {
        let attempt: EndpointPool.Attempt
        let request: any Cancellable
        let start: ContinuousClock.Instant
        let until: ContinuousClock.Instant
    }

    /// What is asked.
    let lookup: Lookup

    /// Whom it is charged to: one for each name of the look-up.
    let charges: [CostTable.Charge]

    /// Told of the tries; nil nearly always.
    var trace: Trace?

    /// The names, in the order of the look-up; without those that nobody waits for any more.
    var names: [PendingName]

    /// The client that the call counts against: that of its first name.
    let client: AnyHashable?

    /// Which servers are asked when.
    var course: Course

    /// The tries that run, by the course's numbers.
    var running: [Int: RunningTry] = [:]

    /// The tries that failed, in the order of their failing.
    var failed: [FailedTry] = []

    /// Whether it asks the daemon's own question.
    let isTrial: Bool

    /// Whether its end tells whether the vendor accepts the account again.
    let isAccountTrial: Bool

    /// When it began, or was begun again in another network.
    var start: ContinuousClock.Instant

    /// When a trial begins unless something was heard since `start`; nil once that was decided.
    var suspectAt: ContinuousClock.Instant?

    /// Counts the beginnings: numbers of an earlier course mean nothing any more.
    var round = 0

    /// When it is to be looked at: for its next hedge, or for a caller whose time is over.
    var wake: ContinuousClock.Instant?

    /// Its place in the order of calls.
    let number: UInt64

    init(
        _ number: UInt64,
        _ lookup: Lookup,
        names: [PendingName],
        course: Course,
        start: ContinuousClock.Instant,
        suspectAt: ContinuousClock.Instant
    ) {
        self.number = number
        self.lookup = lookup
        self.names = names
        client = names.first?.client
        trace = names.lazy.compactMap(\.trace).first
        charges = names.map { CostTable.Charge(name: $0.question.name, route: $0.route) }
        self.course = course
        self.start = start
        self.suspectAt = suspectAt
        isTrial = false
        isAccountTrial = false
    }

    /// Makes a trial, which no client waits for.
    init(
        trial number: UInt64,
        _ lookup: Lookup,
        _ course: Course,
        isOfAccount: Bool,
        _ start: ContinuousClock.Instant
    ) {
        self.number = number
        self.lookup = lookup
        names = []
        charges = lookup.names.map { CostTable.Charge(name: $0, route: "") }
        self.course = course
        self.start = start
        client = nil
        isTrial = true
        isAccountTrial = isOfAccount
    }
}

extension VendorCall: Hashable {
    nonisolated static func == (first: VendorCall, second: VendorCall) -> Bool { first === second }

    nonisolated func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// What is known of one server.
@ServiceLoop
final class ServerRecord {
    /// The counters.
    var statistics: ServerStatistics

    /// How long its replies took.
    let latency = LatencyHistogram()

    init(_ server: SocketAddress) {
        statistics = ServerStatistics(address: server)
    }
}
