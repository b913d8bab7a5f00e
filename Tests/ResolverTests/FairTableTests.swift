// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("Limits of pending queries per client", .timeLimit(.minutes(5)))
struct FairTableTests {
    private static let limits = FairLimits(
        all: 8,
        perClient: 6,
        share: 3,
        grace: .seconds(1)
    )

    private static func client(_ number: UInt32, isProven: Bool = true) -> ClientNetwork {
        ClientNetwork(of: .v4(IPv4Address(value: 0xC000_0200 + number)), isProven: isProven)
    }

    private static func query(_ key: String) -> Query {
        Query(question: Question(name: Name(stringLiteral: "\(key).example"), type: .a))
    }

    private static func key(_ query: Query) -> String {
        query.question.name.description.split(separator: ".").dropLast().joined(separator: ".")
    }

    @ServiceLoop
    private static func end(_ query: PendingQuery?, _ value: String, _ group: UpstreamGroup?) {
        let source = Provenance(source: .upstream, origin: 0)
        let rcode: RCode = value == "failure" ? .servFail : .noError
        var answer = Resolution(rcode: rcode, provenance: source)
        answer.isUnanswered = value == "failure"
        answer.isCrowded = value == "crowded" || value == "client crowded"
        answer.isClientCrowded = value == "client crowded"
        query?.wasRepeated = value == "repetition"
        query?.group = group
        answer.explanation = Explanation(code: .other, text: value)
        query?.end(ResolvedAnswer(answer))
    }

    private static func text(_ answer: Resolution) -> String {
        switch answer.explanation?.text {
        case "no answer in time": "late"
        case "too many pending queries":
            answer.isRefused ? "refused" : "evicted"
        case let text: text ?? ""
        }
    }

    @ServiceLoop
    private final class Questions {
        private(set) var now = Clock.now
        private(set) var outcomes: [String: String] = [:]
        private(set) var cancelled: Set<String> = []
        private var pending: [String: PendingQuery] = [:]

        private(set) var group: UpstreamGroup?

        private lazy var table = SingleFlight(
            ResolverStatistics(),
            Clocks(
                now: { ServiceLoop.assumeIsolated { self.now } },
                wallSeconds: { 0 },
                timer: { _, _ in Never() }
            ),
            work: FairTableTests.limits,
            waiting: FairLimits(all: 12, perClient: 10, share: 3, grace: .seconds(1)),
            limit: .seconds(3_600)
        ) { [unowned self] query in
            let key = FairTableTests.key(query.query)
            query.whenCancelled { [unowned self] in cancelled.insert(key) }
            pending[key] = query
        }

        private final class Never: Cancellable {
            func cancel() {}
        }

        /// Creates the upstream that gets all queries; it drops every `interval`th sample, or none
        /// if `interval` is nil.
        func useUpstream(dropping interval: Int?) async {
            let world = Simulation()
            let server = DroppingUpstream(interval)
            let group = UpstreamGroup([server], health: HealthTable(clocks: world.clocks))
            for _ in 1...60 {
                group.ask(
                    FairTableTests.query("sampled"),
                    deadline: world.now + .seconds(1),
                    load: .high,
                    Completion { _ in }
                )
                await world.advance(by: .milliseconds(100))
            }
            self.group = group
            now = world.now
        }

        var count: Int { table.count }

        /// Reports that a limit of the query's `payer` has prevented a vendor call.
        ///
        /// The vendor call is charged to the client `payer`.
        func refuse(_ key: String) {
            if let query = pending[key] { table.separate(query) }
        }

        func payer(_ key: String) -> ClientNetwork? { pending[key]?.payer }

        /// True if the daemon may repeat the query at upstreams after a loss; nil if the query is
        /// not pending.
        func isRepeated(_ key: String) -> Bool? { pending[key].map { $0.load != .excessive } }

        func ask(
            _ key: String,
            by client: UInt32,
            isProven: Bool = true,
            as label: String? = nil
        ) {
            now += .milliseconds(1)
            let label = label ?? key
            let client = FairTableTests.client(client, isProven: isProven)
            let completion = Completion<Resolution> {
                self.outcomes[label] = FairTableTests.text($0)
            }
            let end = now + .seconds(60)
            let query = FairTableTests.query(key)
            table.ask(query, nil, for: client, now: now, deadline: end, completion)
        }

        func ask(_ key: String, retaining object: AnyObject) {
            table.ask(
                FairTableTests.query(key),
                nil,
                for: FairTableTests.client(1),
                now: now,
                deadline: now + .seconds(60),
                Completion { _ in withExtendedLifetime(object) {} }
            )
        }

        /// If `value` is "failure", ends the query as if no upstream had answered.
        func end(_ key: String, _ value: String, isOfVendor: Bool = false) {
            FairTableTests.end(pending[key], value, isOfVendor ? nil : group)
        }

        func advance(by duration: Duration) { now += duration }
    }

    @Test
    @ServiceLoop
    func `a new client evicts the oldest query of the client with the most queries`() {
        let questions = Questions()
        for number in 1...5 { questions.ask("a\(number)", by: 1) }
        for number in 1...3 { questions.ask("b\(number)", by: 2) }
        questions.ask("c1", by: 3)
        #expect(questions.outcomes == ["a1": "evicted"])
        #expect(questions.cancelled == ["a1"])
        questions.end("c1", "answer")
        #expect(questions.outcomes["c1"] == "answer")
        #expect(questions.count == 7)
    }

    @Test
    @ServiceLoop
    func `the oldest query of all is evicted if no client exceeds its share`() {
        let questions = Questions()
        for number in 1...8 { questions.ask("a\(number)", by: UInt32(number) % 4) }
        questions.ask("b", by: 9)
        questions.ask("c", by: 10)
        #expect(questions.outcomes == ["a1": "evicted", "a2": "evicted"])
    }

    @Test
    @ServiceLoop
    func `a client at its limit is refused until its oldest query is 1 s old`() {
        let questions = Questions()
        for number in 1...7 { questions.ask("a\(number)", by: 1) }
        #expect(questions.outcomes == ["a7": "refused"])
        questions.advance(by: .seconds(1))
        questions.ask("a8", by: 1)
        #expect(questions.outcomes == ["a1": "evicted", "a7": "refused"])
        #expect(questions.count == 6)
    }

    @ServiceLoop
    private static func loseQueries(_ questions: Questions, _ value: String) {
        for number in 1...6 { questions.ask("a\(number)", by: 1) }
        for number in 1...2 {
            questions.advance(by: .seconds(1))
            questions.end("a\(number)", value)
        }
    }

    @ServiceLoop
    private static func endQueries(_ questions: Questions, _ value: String) {
        for number in 1...4 {
            questions.ask("b\(number)", by: 2)
            questions.end("b\(number)", value)
        }
    }

    @Test(arguments: ["failure", "repetition"])
    @ServiceLoop
    func `the limit of a client shrinks while an upstream drops queries`(_ value: String) async {
        let questions = Questions()
        await questions.useUpstream(dropping: 3)
        questions.ask("b", by: 2)
        #expect(questions.isRepeated("b") == true)
        Self.loseQueries(questions, value)
        // The table has reduced the client's limit from six queries to three, so a7 to a9 evict
        // older queries.
        for number in 7...10 { questions.ask("a\(number)", by: 1) }
        #expect(questions.outcomes["a6"] == "evicted")
        #expect(questions.outcomes["a9"] == nil)
        #expect(questions.outcomes["a10"] == "refused")
        #expect(questions.isRepeated("a9") == false)
        // The limit of a client grows by 3 queries (`share`) per second.
        questions.end("b", "answer")
        questions.advance(by: .milliseconds(995))
        for number in 11...13 { questions.ask("a\(number)", by: 1) }
        #expect(questions.count == 6)
        #expect(questions.outcomes["a7"] == nil)
    }

    @Test(arguments: ["failure", "repetition"])
    @ServiceLoop
    func `if an upstream drops no queries, unanswered names do not limit a client`(
        _ value: String
    ) async {
        let questions = Questions()
        await questions.useUpstream(dropping: nil)
        Self.endQueries(questions, "repetition")
        Self.loseQueries(questions, value)
        for number in 7...8 { questions.ask("a\(number)", by: 1) }
        #expect(questions.count == 6)
        #expect(questions.outcomes["a3"] == nil)
    }

    @Test
    @ServiceLoop
    func `fast answers of another source do not hide that an upstream drops queries`() async {
        let questions = Questions()
        await questions.useUpstream(dropping: 3)
        for client in 1...2 {
            for number in 1...200 {
                questions.ask("v\(client).\(number)", by: UInt32(client))
                questions.end("v\(client).\(number)", "answer", isOfVendor: true)
            }
        }
        for number in 1...5 { questions.ask("a\(number)", by: 1) }
        questions.advance(by: .seconds(1))
        for number in 1...200 {
            questions.ask("w\(number)", by: 1)
            questions.end("w\(number)", "answer", isOfVendor: true)
            if number == 100 { questions.end("a1", "failure") }
        }
        questions.end("a2", "failure")
        questions.ask("a6", by: 1)
        questions.advance(by: .seconds(1))
        questions.end("a3", "answer", isOfVendor: true)
        questions.ask("a7", by: 1)
        #expect(questions.isRepeated("a7") == false)
    }

    @Test
    @ServiceLoop
    func `lost queries do not limit the only client`() async {
        let questions = Questions()
        await questions.useUpstream(dropping: 3)
        Self.loseQueries(questions, "failure")
        questions.ask("a7", by: 1)
        #expect(questions.isRepeated("a7") == true)
        for number in 3...6 { questions.end("a\(number)", "answer") }
        questions.ask("b", by: 2)
        questions.advance(by: .seconds(50))
        for number in 8...12 { questions.ask("a\(number)", by: 1) }
        for number in 8...10 {
            questions.advance(by: .milliseconds(600))
            questions.end("a\(number)", "failure")
        }
        questions.ask("a14", by: 1)
        #expect(questions.isRepeated("a14") == false)
    }

    @Test
    @ServiceLoop
    func `lost queries do not limit a client within its share`() async {
        let questions = Questions()
        await questions.useUpstream(dropping: 3)
        for round in 1...4 {
            for client in 1...2 {
                for number in 1...3 {
                    questions.ask("\(client).\(round).\(number)", by: UInt32(client))
                }
            }
            questions.advance(by: .seconds(2))
            for client in 1...2 {
                for number in 1...3 { questions.end("\(client).\(round).\(number)", "failure") }
            }
        }
        for number in 1...6 { questions.ask("b\(number)", by: 1) }
        #expect(!questions.outcomes.values.contains("refused"))
    }

    @Test
    @ServiceLoop
    func `a client at its limit replaces queries only after twice the usual time of an answer`() {
        let questions = Questions()
        for number in 1...40 {
            questions.ask("slow\(number)", by: 1)
            questions.advance(by: .milliseconds(1_200))
            questions.end("slow\(number)", "answer")
        }
        for number in 1...6 { questions.ask("a\(number)", by: 1) }
        questions.advance(by: .seconds(2))
        questions.ask("a7", by: 1)
        #expect(questions.outcomes["a7"] == "refused")
        questions.advance(by: .milliseconds(400))
        questions.ask("a8", by: 1)
        #expect(questions.outcomes["a1"] == "evicted")
    }

    @Test
    @ServiceLoop
    func `unproven clients evict no query of proven clients below half of the table`() {
        let questions = Questions()
        for number in 1...2 { questions.ask("local\(number)", by: UInt32(number)) }
        for number in 1...20 {
            questions.ask("f\(number)", by: UInt32(30 + number), isProven: false)
        }
        #expect(questions.count == 8)
        #expect(questions.outcomes["local1"] == nil && questions.outcomes["f1"] == "evicted")
    }

    @Test
    @ServiceLoop
    func `unproven clients evict no query of a proven client that uses half of the table`() {
        let questions = Questions()
        for number in 1...4 { questions.ask("local\(number)", by: 1) }
        for number in 1...20 {
            questions.ask("f\(number)", by: UInt32(30 + number), isProven: false)
        }
        #expect(questions.count == 8)
        #expect(questions.outcomes.keys.allSatisfy { $0.hasPrefix("f") })
        #expect(questions.outcomes["f16"] == "evicted")
    }

    @Test
    @ServiceLoop
    func `a query that is charged to another client becomes that client's newest query`() {
        let questions = Questions()
        for number in 1...5 { questions.ask("a", by: UInt32(number), as: "a\(number)") }
        for number in 1...7 { questions.ask("n\(number)", by: UInt32(20 + number)) }
        for number in 1...3 { questions.ask("m\(number)", by: UInt32(30 + number)) }
        #expect(questions.outcomes["a1"] == "evicted")
        #expect(questions.outcomes["a2"] == nil)
        #expect(questions.outcomes["n2"] == "evicted")
    }

    @Test
    @ServiceLoop
    func `an evicted query continues for the other clients that wait for it`() {
        let questions = Questions()
        for number in 1...6 { questions.ask("a\(number)", by: 1) }
        questions.ask("a1", by: 2, as: "joined")
        for number in 1...2 { questions.ask("b\(number)", by: 3) }
        questions.ask("c", by: 4)
        // The eviction of `a1` freed no place, because client 2 also waits for `a1`.
        #expect(questions.outcomes == ["a1": "evicted", "a2": "evicted"])
        #expect(questions.cancelled == ["a2"])
        questions.end("a1", "answer")
        #expect(questions.outcomes["joined"] == "answer")
        #expect(questions.outcomes["a1"] == "evicted")
    }

    @Test
    @ServiceLoop
    func `if an upstream is crowded, a new query starts for the other waiting proven clients`()
        async
    {
        let questions = Questions()
        let turns = LoopTurns()
        questions.ask("a", by: 1, isProven: false)
        questions.ask("a", by: 2, as: "proven")
        questions.ask("a", by: 3, isProven: false, as: "forged")
        questions.end("a", "crowded")
        #expect(questions.outcomes == ["a": "crowded", "forged": "crowded"])
        ServiceLoop.task { turns.note() }
        await turns.reach(1)
        questions.end("a", "answer")
        #expect(questions.outcomes["proven"] == "answer" && questions.count == 0)
        questions.ask("b", by: 4)
        questions.ask("b", by: 4, as: "again")
        questions.end("b", "crowded")
        #expect(questions.outcomes["again"] == "crowded" && questions.count == 0)
    }

    @Test
    @ServiceLoop
    func `if one client crowds an upstream, a new query starts for all other waiting clients`()
        async
    {
        let questions = Questions()
        let turns = LoopTurns()
        questions.ask("a", by: 1, isProven: false)
        for client in 2...4 {
            questions.ask("a", by: UInt32(client), isProven: client == 3, as: "a\(client)")
        }
        questions.ask("a", by: 1, isProven: false, as: "again")
        questions.end("a", "client crowded")
        #expect(questions.outcomes == ["a": "client crowded", "again": "client crowded"])
        ServiceLoop.task { turns.note() }
        await turns.reach(1)
        questions.end("a", "crowded")
        #expect(questions.outcomes["a2"] == "crowded" && questions.outcomes["a4"] == "crowded")
        ServiceLoop.task { turns.note() }
        await turns.reach(2)
        questions.end("a", "answer")
        #expect(questions.outcomes["a3"] == "answer" && questions.count == 0)
    }

    @Test
    @ServiceLoop
    func `at a crowded upstream, a client at its own limit does not affect the other clients`()
        async
    {
        let questions = Questions()
        let turns = LoopTurns()
        for number in 1...6 { questions.ask("b\(number)", by: 2) }
        questions.ask("a", by: 1, isProven: false)
        for client in 2...3 { questions.ask("a", by: UInt32(client), as: "a\(client)") }
        questions.end("a", "crowded")
        #expect(questions.outcomes == ["a": "crowded", "a2": "evicted"])
        ServiceLoop.task { turns.note() }
        await turns.reach(1)
        questions.end("a", "answer")
        #expect(questions.outcomes["a3"] == "answer")
    }

    @Test
    @ServiceLoop
    func `a limit of the client to which a query is charged affects no other client`() async {
        let questions = Questions()
        let turns = LoopTurns()
        questions.ask("a", by: 1, as: "a1")
        for client in 2...3 { questions.ask("a", by: UInt32(client), as: "a\(client)") }
        questions.refuse("a")
        ServiceLoop.task { turns.note() }
        await turns.reach(1)
        #expect(questions.count == 2)
        #expect(questions.payer("a") == Self.client(2))
        questions.ask("a", by: 1, as: "again")
        questions.end("a", "vendor")
        let answered = ["a2": "vendor", "a3": "vendor", "again": "vendor"]
        #expect(questions.outcomes == answered)
        questions.ask("a", by: 1, as: "late")
        #expect(questions.count == 1)
        questions.ask("a", by: 4)
        #expect(questions.count == 2 && questions.payer("a") == Self.client(4))
    }

    @Test
    @ServiceLoop
    func `an answer to an evicted query does not end a later query for the same name`() {
        let questions = Questions()
        for number in 1...6 { questions.ask("a\(number)", by: 1) }
        for number in 1...2 { questions.ask("b\(number)", by: 2) }
        let questionsBefore = questions.count
        questions.ask("c", by: 3)
        #expect(questions.count == questionsBefore)
        questions.end("a1", "too late")
        #expect(questions.outcomes["a1"] == "evicted")
    }

    @Test
    @ServiceLoop
    func `the number of waiting clients is bounded, even if all wait for one query`() {
        let questions = Questions()
        for number in 0..<10 { questions.ask("a", by: 1, as: "a\(number)") }
        questions.ask("a", by: 1, as: "more")
        #expect(questions.outcomes == ["more": "refused"])
        for number in 0..<3 { questions.ask("a", by: 2, as: "b\(number)") }
        #expect(questions.outcomes == ["more": "refused", "a0": "evicted"])
        questions.end("a", "answer")
        #expect(questions.outcomes["b2"] == "answer")
        #expect(questions.outcomes["a9"] == "answer")
    }

    @Test
    @ServiceLoop
    func `all state is released after many queries`() {
        let questions = Questions()
        for round in 0..<2_000 {
            questions.ask("n\(round)", by: UInt32(round % 5))
            if round % 3 == 0 { questions.end("n\(round)", "answer") }
        }
        #expect(questions.count <= 8)
        for round in 0..<2_000 { questions.end("n\(round)", "answer") }
        #expect(questions.count == 0)
        for number in 1...6 { questions.ask("a\(number)", by: 1) }
        #expect(questions.outcomes["a1"] == nil)
    }

    @Test
    @ServiceLoop
    func `work that a lower layer never ends is cancelled, and frees its place`() async {
        let world = Simulation()
        var (outcomes, cancelled) = ([String](), false)
        var pending: PendingQuery?
        let table = SingleFlight(ResolverStatistics(), world.clocks, limit: .seconds(5)) { query in
            query.whenCancelled { cancelled = true }
            pending = query
        }
        for wait in [Duration.seconds(1), .seconds(60)] {
            table.ask(
                Self.query("a"),
                nil,
                for: nil,
                now: world.now,
                deadline: world.now + wait,
                Completion { outcomes.append(Self.text($0)) }
            )
        }
        await world.advance(by: .milliseconds(4_900))
        #expect(outcomes == ["late"])
        #expect(table.count == 1 && !cancelled)
        await world.advance(by: .milliseconds(200))
        #expect(outcomes == ["late", "late"])
        #expect(table.count == 0 && cancelled)
        Self.end(pending, "too late", nil)
        #expect(outcomes.count == 2)
    }

    @Test
    func `a client is an IPv4 address or an IPv6 /56, with or without a verified address`() throws {
        func network(_ text: String, isProven: Bool = true) throws -> ClientNetwork {
            ClientNetwork(of: try #require(IPAddress(text)), isProven: isProven)
        }
        #expect(try network("2001:db8:0:12ff::1") == network("2001:db8:0:1200:5::"))
        #expect(try network("2001:db8:0:1200::1") != network("2001:db8:0:1300::1"))
        #expect(try network("::ffff:192.0.2.1") == network("192.0.2.1"))
        #expect(try network("192.0.2.1") != network("192.0.2.2"))
        #expect(try network("192.0.2.1") != network("192.0.2.1", isProven: false))
    }

    @Test
    @ServiceLoop
    func `a completed caller releases its objects, although the table still stores the caller`() {
        final class Owner {}
        weak var owner: Owner?
        let questions = Questions()
        do {
            let made = Owner()
            owner = made
            questions.ask("a", retaining: made)
        }
        #expect(owner != nil)
        questions.end("a", "answered")
        #expect(owner == nil)
    }

    @Test
    @ServiceLoop
    func `a caller that was evicted before the answer does not count as merged`() {
        let now = Clock.now
        let statistics = ResolverStatistics()
        var pending: PendingQuery?
        let table = SingleFlight(
            statistics,
            .system,
            waiting: FairLimits(all: 8, perClient: 2, share: 1, grace: .zero),
            limit: .seconds(3_600)
        ) { pending = $0 }
        for _ in 0..<4 {
            table.ask(
                Self.query("a"),
                nil,
                for: Self.client(1),
                now: now,
                deadline: now + .seconds(60),
                Completion { _ in }
            )
        }
        Self.end(pending, "answer", nil)
        #expect(statistics.evicted == 2)
        #expect(statistics.merged == 2)
    }

    @Test
    @ServiceLoop
    func `an answer for many callers is delivered in several turns of the loop`() async {
        let now = Clock.now
        var pending: [PendingQuery] = []
        let table = SingleFlight(ResolverStatistics(), .system, limit: .seconds(3_600)) {
            pending.append($0)
        }
        let turns = LoopTurns()
        for key in ["large", "small"] {
            for number in 0..<(key == "large" ? 300 : 70) {
                table.ask(
                    Self.query(key),
                    nil,
                    for: Self.client(UInt32(number % 4)),
                    now: now,
                    deadline: now + .seconds(60),
                    Completion { _ in turns.note() }
                )
            }
        }
        for query in pending { Self.end(query, "answer", nil) }
        await turns.reach(370)
        #expect(turns.notes == [128, 64, 6, 64, 64, 44])
    }
}

@ServiceLoop
final class LoopTurns {
    private(set) var notes: [Int] = []
    private var isNew = true
    private var waiter: (total: Int, waiter: Waiter)?

    func note() {
        if isNew {
            isNew = false
            notes.append(0)
        }
        notes[notes.count - 1] += 1
    }

    func reach(_ total: Int) async {
        let waiter = Waiter()
        self.waiter = (total, waiter)
        turn()
        _ = await waiter.wait(until: nil)
    }

    private func turn() {
        isNew = true
        if let waiter, notes.reduce(0, +) >= waiter.total { return waiter.waiter.resume(.ready) }
        ServiceLoop.task { self.turn() }
    }
}

/// Upstream that answers each query immediately, except every `interval`th sample.
private final class DroppingUpstream: Forwarding {
    let name = "upstream"
    let url = "scripted"

    /// True, so that a lost sample is not sent again as a second datagram.
    let isProtected = true

    let timeout: Duration = .seconds(1)
    let latency = LatencyHistogram()
    let numbers = UpstreamNumbers()
    private let interval: Int?
    private var samples = 0

    init(_ interval: Int?) { self.interval = interval }

    func ask(_ attempt: Attempt) {
        if attempt.query.question.name.parent == "root-servers.net" {
            samples += 1
            if let interval, samples % interval == 0 { return attempt.end(.failure(.timedOut)) }
        }
        attempt.end(.success(.message(Message())))
    }
}
