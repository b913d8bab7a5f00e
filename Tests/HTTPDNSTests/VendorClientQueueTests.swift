// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Long queue of a vendor client")
struct VendorClientQueueTests {
    @ServiceLoop
    private final class Bursts {
        private(set) var sizes: [Int] = []
        private var current = 0

        func note() {
            if current == 0 {
                ServiceLoop.task { [self] in
                    sizes.append(current)
                    current = 0
                }
            }
            current += 1
        }
    }

    @Test("in one iteration of the service loop, only a limited number of queued names fail")
    @ServiceLoop
    func refusals() async throws {
        let world = Simulation()
        world.servers([:])
        let usage = UsageMemory()
        let client = try world.client(usage: usage) {
            $0.budget = Budget.Rule(callsPerDay: 10)
            $0.concurrentCalls = 1
        }
        let first = try world.begin(client, "first.example.com", of: network(0))
        await world.advance(by: .milliseconds(1))
        let bursts = Bursts()
        for number in 1...300 {
            client.lookUp(
                try Name("n\(number).example.com"),
                .both,
                route: "",
                deadline: world.now + .seconds(3),
                cancellation: CancellationSignal(client: network(UInt32(number))),
                Completion { _ in bursts.note() }
            )
        }
        #expect(client.statistics.queued == 300 && bursts.sizes.isEmpty)
        _ = usage.update("tencent", today: UsageRecord.day(world.wallSeconds), durably: true) {
            $0.add(UsageAmount(calls: 10, units: 10))
            return true
        }
        _ = try await world.value(of: first).get()
        await world.advance(by: .milliseconds(1))
        #expect(bursts.sizes.reduce(0, +) == 300)
        #expect(bursts.sizes.max() ?? 0 <= ClientLimits.batchesPerIteration)
    }

    @Test("a client that queries too many names gets as many answers as the vendor can give")
    @ServiceLoop
    func overload() async throws {
        let world = Simulation()
        world.script = { .reply(good($0), after: .milliseconds(100)) }
        let client = try world.client(servers: 1, vendor: ClockedVendor(maximumNames: 1))
        var durations: [Duration] = []
        var answered: [Int] = []
        for number in 0..<3_000 {
            client.lookUp(
                try Name("n\(number).example.com"),
                .both,
                route: "",
                deadline: world.now + .seconds(3),
                cancellation: CancellationSignal(client: network(1)),
                Completion {
                    guard case .success(let reply) = $0 else { return }
                    durations.append(reply.duration)
                    answered.append(number)
                }
            )
            await world.advance(by: .microseconds(3_333))
        }
        let during = answered.count
        await world.advance(by: .seconds(4))
        #expect(during > 1_500 && answered.filter { $0 >= 2_000 }.count > 500)
        #expect(durations.sorted()[durations.count / 2] < .milliseconds(700))
        #expect(world.sent.count == answered.count, "no call is billed in vain")
        #expect(client.shares.count == 0 && client.pending.isEmpty)
    }

    @Test("a queued name gets no call if the vendor usually answers only after the name's deadline")
    @ServiceLoop
    func tooLate() async throws {
        let world = Simulation()
        world.script = { .reply(good($0), after: .milliseconds(200)) }
        let client = try world.client(servers: 1) { $0.concurrentCalls = 1 }
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        _ = try world.begin(client, "second.example.com", of: network(1))
        await world.advance(by: .milliseconds(1))
        let late = try world.begin(client, of: network(2), within: .milliseconds(350))
        let other = try world.begin(client, "other.example.com", of: network(3))
        guard case .failure(let failure) = try await world.value(of: late) else {
            throw Unexpected(what: "answered")
        }
        #expect(failure.reason == .busy)
        _ = try await world.value(of: other).get()
        #expect(world.asked.count == 3 && client.statistics.billable == 3)
    }

    @Test("a lookup that starts because another name failed does not exceed the limit of calls")
    @ServiceLoop
    func nested() async throws {
        let world = Simulation()
        var ends: [Instant] = []
        var most = 0
        world.script = { request in
            ends.removeAll { $0 <= world.now }
            ends.append(world.now + .milliseconds(200))
            most = max(most, ends.count)
            return .reply(good(request), after: .milliseconds(200))
        }
        let client = try world.client(servers: 1) { $0.concurrentCalls = 1 }
        _ = try await world.lookUp(client, "first.example.com", of: network(1))
        _ = try world.begin(client, "second.example.com", of: network(1))
        await world.advance(by: .milliseconds(1))
        var isAnswered = false
        let nested = try Name("nested.example.com")
        client.lookUp(
            try Name("late.example.com"),
            .both,
            route: "",
            deadline: world.now + .milliseconds(350),
            cancellation: CancellationSignal(client: network(2)),
            Completion { _ in
                // DNS64 does this: after a failure for AAAA, it requests the A records.
                client.lookUp(
                    nested,
                    .both,
                    route: "",
                    deadline: world.now + .seconds(3),
                    cancellation: CancellationSignal(client: network(2)),
                    Completion { if case .success = $0 { isAnswered = true } }
                )
            }
        )
        let other = try world.begin(client, "other.example.com", of: network(2))
        _ = try await world.value(of: other).get()
        await world.advance(by: .seconds(1))
        #expect(isAnswered && world.sent.count == 4)
        #expect(most == 1)
    }
}
