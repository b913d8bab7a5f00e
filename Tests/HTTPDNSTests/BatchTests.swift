// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Batches of names in one call")
struct BatchTests {
    let world = Simulation()

    @ServiceLoop
    private var calls: [[String]] { world.sent.map { namesAsked($0.request) } }

    @ServiceLoop
    private func begin(
        _ numbers: ClosedRange<Int>,
        _ client: VendorClient
    ) throws -> [Begun] {
        try numbers.map { try world.begin(client, "n\($0).example.com") }
    }

    @Test("below the limit of concurrent calls, each name has its own call")
    @ServiceLoop
    func apart() async throws {
        world.script = {
            .reply(good($0), after: $0.url.contains("n1.") ? .seconds(1) : .milliseconds(20))
        }
        let begun = try begin(1...2, world.client { $0.hedgeAfter = .seconds(2) })
        #expect(try await world.value(of: begun[1]).get().duration == .milliseconds(20))
        #expect(try await world.value(of: begun[0]).get().duration == .seconds(1))
    }

    @Test(
        "names that arrive in one iteration of the service loop share calls, up to the batch limit"
    )
    @ServiceLoop
    func sameTurn() async throws {
        world.servers([:])
        let client = try world.client { $0.batching = .together }
        let begun = try begin(1...19, client)
        for one in begun { _ = try await world.value(of: one).get() }
        #expect(calls.map(\.count) == [8, 8, 3])
        #expect(world.times == [0, 0, 0])
        #expect(calls[0][0] == "n1.example.com")
        #expect(client.statistics.batched == 16)
        #expect(client.statistics.billable == 3)
        #expect(client.statistics.billableNames == 19)
    }

    @Test("each name of a batch gets its answer")
    @ServiceLoop
    func answers() async throws {
        world.script = { _ in
            .reply(ok("n2.example.com.:192.0.2.2,60-0\nn1.example.com.:192.0.2.1,60-0"))
        }
        let begun = try begin(1...3, world.client { $0.batching = .together })
        let answers = [
            try await world.value(of: begun[0]).get(), try await world.value(of: begun[1]).get(),
            try await world.value(of: begun[2]).get(),
        ]
        #expect(answers[0].answer.v4?.addresses == [try address("192.0.2.1")])
        #expect(answers[1].answer.v4?.addresses == [try address("192.0.2.2")])
        #expect(answers[2].answer.isEmpty)
    }

    @Test("if a call fails, all its names fail")
    @ServiceLoop
    func failure() async throws {
        world.script = { _ in .fail(.connect("refused")) }
        let client = try world.client { $0.batching = .together }
        for begun in try begin(1...3, client) {
            guard case .failure(let failure) = try await world.value(of: begun) else {
                throw Unexpected(what: "an answer")
            }
            #expect(failure.reason == .transport(.connect("refused")))
        }
        #expect(client.statistics.failures == 3)
        #expect(world.sent.count == 2)
    }

    @Test("a name that is still queued at its deadline fails")
    @ServiceLoop
    func queuedTooLong() async throws {
        let client = try world.client { $0.concurrentCalls = 1 }
        _ = try world.begin(client, "first.example.com")
        await world.advance(by: .milliseconds(1))
        let failure = try await world.failure(client, within: .milliseconds(200))
        #expect(failure == VendorFailure(reason: .clientBusy))
        #expect(world.elapsed == .milliseconds(201))
    }

    @Test("a lookup for a name in flight joins the call in flight")
    @ServiceLoop
    func merged() async throws {
        world.servers([:])
        let client = try world.client()
        let first = try world.begin(client, families: .v4)
        let second = try world.begin(client, families: .v4)
        await world.advance(by: .milliseconds(10))
        let third = try world.begin(client, families: .v6)
        for one in [first, second, third] { _ = try await world.value(of: one).get() }
        #expect(world.sent.count == 1)
        #expect(client.statistics.merged == 1)
        #expect(client.statistics.paired == 1)
        #expect(client.statistics.successes == 3)
    }

    @Test("each of several lookups for one name ends at its own deadline")
    @ServiceLoop
    func deadlines() async throws {
        world.servers([1: .reply(ok("www.example.com.:192.0.2.9,60-0"), after: .milliseconds(200))])
        let client = try world.client()
        let long = try world.begin(client)
        let failure = try await world.failure(client, within: .milliseconds(50))
        #expect(world.elapsed == .milliseconds(50))
        #expect(failure.reason == .transport(.timedOut(reused: false)))
        _ = try await world.value(of: long).get()
        #expect(world.sent.count == 1)
    }

    @Test("a cancelled lookup leaves the queue, but does not end a call that was already sent")
    @ServiceLoop
    func cancelling() async throws {
        world.servers([:])
        let client = try world.client { $0.batching = .together }
        let signals = (0..<3).map { _ in CancellationSignal() }
        var results: [Result<VendorReply, VendorFailure>?] = [nil, nil, nil]
        for (index, name) in ["a.example.com", "b.example.com", "b.example.com"].enumerated() {
            client.lookUp(
                try Name(name),
                .both,
                route: "",
                deadline: world.now + .seconds(3),
                cancellation: signals[index],
                Completion { results[index] = $0 }
            )
        }
        let cancelled = VendorFailure(reason: .transport(.cancelled))
        signals[0].cancel()
        #expect(results[0] == .failure(cancelled))
        await world.advance(by: .milliseconds(1))
        #expect(world.asked.map { namesAsked($0.request) } == [["b.example.com"]])
        signals[1].cancel()
        signals[2].cancel()
        #expect(results[1] == .failure(cancelled))
        await world.advance(by: .seconds(1))
        #expect(try results[2]?.get().answer.v4 != nil)
        #expect(world.cancelled == 0)
        #expect(client.statistics.cancelled == 2)
        #expect(client.statistics.inFlight == 0)
    }
}
