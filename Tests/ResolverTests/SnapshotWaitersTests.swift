// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import TestWorld
import Testing

@testable import Resolver

@Suite("Queries that arrive while the snapshot is loaded")
struct SnapshotWaitersTests {
    @ServiceLoop
    private func harness(age: Int = 61, fault: Fault = .silent()) async throws -> ResolverHarness {
        let harness = try ResolverHarness(.tencent, upstream: nil)
        _ = try await harness.ask("www.example.com")
        await harness.world.advance(by: .seconds(age))
        for number in 1...2 { harness.faults["tencent \(number)"] = fault }
        harness.snapshot = harness.takeSnapshot()
        harness.emptyCache()
        harness.resolver.snapshotWaiters.begin()
        return harness
    }

    @ServiceLoop
    private func begins(_ harness: ResolverHarness, _ asked: Asked, _ text: String) async throws
        -> Bool
    {
        try await harness.story(of: asked).hasPrefix(text)
    }

    @Test("a client that has waited 300 ms gets a stale answer as soon as the answer is loaded")
    @ServiceLoop
    func loadedLate() async throws {
        let harness = try await harness()
        let asked = harness.begin("www.example.com")
        await harness.world.advance(by: .seconds(1))
        #expect(asked.operation.value == nil)
        try harness.load()
        harness.resolver.snapshotWaiters.end()
        #expect(
            try await harness.story(of: asked).contains(
                """
                NOERROR from tencent/192.0.2.11:443 after 1000 ms
                EDE 3: expired 2 s ago
                answer: A 192.0.2.101 30, A 192.0.2.102 30
                """
            )
        )
    }

    @Test("even if a stale answer is loaded earlier, the client gets this answer only after 300 ms")
    @ServiceLoop
    func loadedSoon() async throws {
        let harness = try await harness()
        let asked = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(50))
        try harness.load()
        harness.resolver.snapshotWaiters.end()
        #expect(
            try await begins(harness, asked, "NOERROR from tencent/192.0.2.11:443 after 300 ms")
        )
    }

    @Test("a client gets a fresh answer as soon as the answer is loaded")
    @ServiceLoop
    func fresh() async throws {
        let harness = try await harness(age: 30)
        let asked = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(50))
        try harness.load()
        harness.resolver.snapshotWaiters.end()
        let story = try await harness.story(of: asked)
        #expect(story.hasPrefix("NOERROR from tencent/192.0.2.11:443 after 50 ms"))
        #expect(story.contains("answer: A 192.0.2.101 30, A 192.0.2.102 30"))
    }

    @Test("a client gets a loaded answer before the whole snapshot is loaded")
    @ServiceLoop
    func inPart() async throws {
        let harness = try await harness()
        let asked = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(400))
        try harness.load()
        #expect(
            try await begins(harness, asked, "NOERROR from tencent/192.0.2.11:443 after 500 ms")
        )
    }

    @Test("a client gets a failure only after the snapshot is loaded; the failure is not cached")
    @ServiceLoop
    func failure() async throws {
        let harness = try await harness(fault: .broken(.connect("refused"), after: .zero))
        let asked = harness.begin("www.example.com")
        let other = harness.begin("four.example.com")
        await harness.world.advance(by: .milliseconds(100))
        #expect(asked.operation.value == nil)
        #expect(other.operation.value == nil)
        #expect(harness.cached("four.example.com").isEmpty)
        try harness.load()
        harness.resolver.snapshotWaiters.end()
        #expect(
            try await begins(harness, asked, "NOERROR from tencent/192.0.2.11:443 after 100 ms")
        )
        #expect(try await begins(harness, other, "SERVFAIL from httpdnsd after 100 ms"))
    }

    @Test("if the snapshot is loaded slowly, clients get a failure at their deadline")
    @ServiceLoop
    func hungDisk() async throws {
        let harness = try await harness(fault: .broken(.connect("refused"), after: .zero))
        let asked = harness.begin("www.example.com", within: .seconds(2))
        #expect(try await begins(harness, asked, "SERVFAIL from httpdnsd after 2000 ms"))
        await harness.world.advance(by: .seconds(5))
        let late = harness.begin("four.example.com", within: .seconds(1))
        #expect(try await begins(harness, late, "SERVFAIL from httpdnsd after 1000 ms"))
        #expect(harness.cached("four.example.com") == ["A 0"])
    }

    @Test("if a vendor answers within 300 ms, the client does not get the snapshot's stale answer")
    @ServiceLoop
    func better() async throws {
        let harness = try await harness(fault: .slow(.milliseconds(200)))
        let asked = harness.begin("www.example.com")
        await harness.world.advance(by: .milliseconds(100))
        try harness.load()
        harness.resolver.snapshotWaiters.end()
        let story = try await harness.story(of: asked)
        #expect(story.hasPrefix("NOERROR from tencent/192.0.2.11:443 after 200 ms"))
        #expect(!story.contains("EDE 3"))
    }

    @Test("the number of a client's queries that wait for the snapshot is limited")
    @ServiceLoop
    func limits() async throws {
        let harness = try await harness()
        let waiters = SnapshotWaiters(
            ServeStale(Freshness().stale, cache: harness.cache),
            clocks: harness.world.clocks,
            limits: FairLimits(all: 400, perClient: 300, share: 64, grace: .seconds(1))
        )
        waiters.begin()
        let client = ClientNetwork(of: try #require(IPAddress("192.0.2.1")), isProven: true)
        let (now, end) = (harness.world.now, harness.world.now + .seconds(4))
        var refused = 0
        let turns = LoopTurns()
        for number in 0..<500 {
            let name = try Name("n\(number).example.com")
            let waiting = waiters.add(
                Query(question: Question(name: name, type: .a)),
                nil,
                of: client,
                now: now,
                firstBegan: now,
                deadline: end,
                Completion { resolution in
                    if resolution.isRefused { refused += 1 } else { turns.note() }
                }
            )
            if let waiting { waiters.resolved(waiting, .evicted) }
        }
        #expect(waiters.count == 300)
        #expect(refused == 200)
        #expect(turns.notes.isEmpty)
        waiters.end()
        await turns.reach(300)
        #expect(turns.notes == [64, 64, 64, 64, 44])
        #expect(waiters.count == 0)
    }
}

extension ResolverHarness {
    fileprivate func takeSnapshot() -> [UInt8] {
        var writer = SnapshotWriter(of: cache, now: world.now, wallTime: UInt64(world.wallSeconds))
        var octets: [UInt8] = []
        while let block = writer.next({ self.resolver.origins.label($0) }) { octets += block }
        return octets
    }

    fileprivate func load() throws {
        let loaded = try cache.restore(
            snapshot,
            now: world.now,
            wallTime: UInt64(world.wallSeconds)
        ) { self.resolver.origins.number(labelled: $0) }
        try #require(loaded.restored > 0)
    }
}
