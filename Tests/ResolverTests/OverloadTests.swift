// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing
import Upstream

@testable import Resolver

@Suite("An encrypted upstream is overloaded; the fallback is plain", .timeLimit(.minutes(5)))
struct OverloadTests {
    @Test
    @ServiceLoop
    func `the dead names of a client send no name of other clients in the clear`() async {
        let harness = OverloadHarness()
        await harness.run(for: 20, deadNames: 300)
        #expect(harness.dot.closed > 0)
        #expect(harness.plain.names == [])
        let later = harness.sources(since: harness.world.start + .seconds(10))
        #expect(later.count >= 45)
        #expect(later.count { $0 == "dot" } >= later.count * 4 / 5)
    }

    @Test
    @ServiceLoop
    func `a burst of dead names sends no name of other clients in the clear`() async {
        let harness = OverloadHarness()
        await harness.run(for: 1)
        for _ in 0..<2 {
            harness.sendDeadNames(1_000)
            await harness.run(for: 12)
        }
        #expect(harness.dot.closed > 0)
        #expect(harness.plain.names == [])
    }

    @Test(arguments: [true, false])
    @ServiceLoop
    func `a plain upstream takes over 10 to 14 s after an upstream fails under load`(
        _ closes: Bool
    ) async {
        let harness = OverloadHarness()
        await harness.run(for: 5, deadNames: 40)
        #expect(harness.results.allSatisfy { $0.source == "dot" })
        harness.dot.state = closes ? .closing : .silent
        let end = harness.world.now
        await harness.run(for: 9, deadNames: 40)
        #expect(!harness.sources().contains("plain"))
        await harness.run(for: 10, deadNames: 40)
        let later = harness.sources(since: end + .seconds(14))
        #expect(later.count >= 20)
        #expect(later.allSatisfy { $0 == "plain" })
    }

    @Test
    @ServiceLoop
    func `queries that accumulate during an outage do not delay the plain upstream`() async {
        let harness = OverloadHarness()
        await harness.run(for: 5, otherNames: 35)
        harness.dot.state = .silent
        let end = harness.world.now
        await harness.run(for: 10, otherNames: 35)
        let later = harness.sources(since: end)
        #expect(later.count >= 200)
        #expect(later.allSatisfy { $0 == "plain" })
    }
}

/// Resolver with two upstreams (``ClosingUpstream``): `dot` is encrypted, `plain` is not.
@ServiceLoop
private final class OverloadHarness {
    let world = Simulation()
    let dot: ClosingUpstream
    let plain: ClosingUpstream

    /// `source` is the upstream that answered; empty for SERVFAIL.
    private(set) var results: [(sent: Instant, source: String)] = []

    private let resolver: Resolver
    private var count = 0

    private static let step = Duration.milliseconds(50)

    init() {
        let dot = ClosingUpstream("dot", world, isProtected: true)
        let plain = ClosingUpstream("plain", world, isProtected: false)
        (self.dot, self.plain) = (dot, plain)
        resolver = Resolver(
            routes: RouteTable(),
            standard: UpstreamGroup([dot, plain], health: HealthTable(clocks: world.clocks)),
            policy: TTLPolicy(),
            answers: AnswerPolicy(),
            nat64: nil,
            probe: { _, _ in false },
            freshness: Freshness(),
            cache: AnswerCache(limit: 1 << 20, origin: world.now, seed: 1),
            clocks: world.clocks
        )
    }

    func run(for seconds: Int, deadNames: Int = 0, otherNames: Int = 0) async {
        let steps = Int(Duration.seconds(1) / Self.step)
        for step in 0..<seconds * steps {
            sendDeadNames(deadNames * (step + 1) / steps - deadNames * step / steps)
            let others = otherNames + 5
            for _ in 0..<(others * (step + 1) / steps - others * step / steps) {
                let sent = world.now
                send("other", of: 2) { [self] in results.append((sent, $0)) }
            }
            await world.advance(by: Self.step)
            dot.endAttempts()
            plain.endAttempts()
        }
    }

    func sources(since start: Instant? = nil) -> [String] {
        results.filter { $0.sent >= start ?? world.start }.map(\.source)
    }

    func sendDeadNames(_ number: Int) {
        for _ in 0..<number { send("dead", of: 1) { _ in } }
    }

    private func send(
        _ label: String,
        of client: UInt32,
        _ completion: @escaping @ServiceLoop (String) -> Void
    ) {
        count += 1
        resolver.resolve(
            Query(
                question: Question(
                    name: Name(stringLiteral: "\(label)\(count).example.net"),
                    type: .a
                )
            ),
            of: ClientNetwork(of: .v4(IPv4Address(value: 0xC000_0200 + client)), isProven: true),
            deadline: world.now + ResolverLimits.total,
            Completion { [origins = resolver.origins] resolution in
                let origin = resolution.isFailure ? "" : origins.name(resolution.provenance.origin)
                completion(String(origin.prefix { $0 != "/" }))
            }
        )
    }
}

/// Upstream that resolves at most 512 dead names at a time.
///
/// If the upstream gets a further query, it closes all its connections. Like Unbound, the upstream
/// continues to resolve the dead names of closed connections, so these names still count.
private final class ClosingUpstream: Forwarding {
    enum State { case answering, closing, silent }

    let name: String
    let url = "scripted"
    let isProtected: Bool
    let timeout: Duration = .seconds(2)
    let repeatsAfter: Duration? = .seconds(1)
    let latency = LatencyHistogram()
    let numbers = UpstreamNumbers()

    var state = State.answering

    private(set) var names: [String] = []

    private(set) var closed = 0

    private let world: Simulation

    /// For each dead name in progress, the time at which the upstream stops resolving it.
    private var ends: ArraySlice<Instant> = []
    private var attempts: [Attempt] = []

    init(_ name: String, _ world: Simulation, isProtected: Bool) {
        self.name = name
        self.world = world
        self.isProtected = isProtected
    }

    func ask(_ attempt: Attempt) {
        let question = attempt.query.question
        let name = "\(question.name)"
        if name.hasPrefix("other") { names.append(name) }
        while let end = ends.first, end <= world.now { ends.removeFirst() }
        switch state {
        case .answering where ends.count >= 512, .closing: return close(attempt)
        case .answering where !name.hasPrefix("dead"):
            var message = Message(header: Header())
            message.questions = [question]
            if question.type == .a { message.answers = [.a(question.name, 0xC000_0263)] }
            attempt.end(.success(.message(message)))
        case .answering:
            ends.append(world.now + .seconds(5))
            attempts.append(attempt)
        case .silent: attempts.append(attempt)
        }
    }

    /// Closes the connections after all queries of the current step have been sent.
    private func close(_ attempt: Attempt) {
        attempts.append(attempt)
        ServiceLoop.task { [self] in
            let lost = attempts
            attempts = []
            closed += lost.count
            for attempt in lost {
                attempt.wasRefused = true
                attempt.end(.failure(.broken("closed the connection")))
            }
        }
    }

    func endAttempts() {
        let late = attempts.filter { $0.deadline <= world.now }
        attempts.removeAll { $0.deadline <= world.now }
        for attempt in late { attempt.end(.failure(.timedOut)) }
    }
}
