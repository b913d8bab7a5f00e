// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Long queue of a vendor client")
struct VendorClientQueueTests {
    /// Number of events in each iteration of the service loop.
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

    @Test("one iteration of the service loop refuses a limited number of queued names")
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
        // Another process spends the budget.
        _ = usage.update("tencent", today: UsageRecord.day(world.wallSeconds), durably: true) {
            $0.add(UsageAmount(calls: 10, units: 10))
            return true
        }
        _ = try await world.value(of: first).get()
        await world.advance(by: .milliseconds(1))
        #expect(bursts.sizes.reduce(0, +) == 300)
        #expect(bursts.sizes.max() ?? 0 <= ClientLimits.batchesPerIteration)
    }
}
