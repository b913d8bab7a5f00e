// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("A vendor after a change of its settings")
struct VendorClientReloadTests {
    let world = Simulation()

    @Test("a reload keeps counters, costs, a pause and the budget of the day")
    @ServiceLoop
    func goesOn() async throws {
        world.servers([:])
        let old = try world.client { $0.budget = Budget.Rule(callsPerDay: 5) }
        for _ in 0..<2 { _ = try await world.lookUp(old) }
        old.pause()
        let new = try world.client { $0.budget = Budget.Rule(callsPerDay: 3) }
        new.takeOver(from: old, hasSameAccount: true)
        #expect(new.statistics.state == .paused)
        #expect(new.statistics.billable == 2)
        #expect(new.costliestNames(5).map(\.calls) == [2])
        new.resume()
        _ = try await world.lookUp(new)
        #expect(new.statistics.billable == 3)
        #expect(new.statistics.usage?.callsToday == 3)
        #expect(new.statistics.state == .overBudget(problem: nil))
        #expect(old.statistics.billable == 2)

        let other = try world.client { $0.budget = Budget.Rule(callsPerDay: 3) }
        other.takeOver(from: new, hasSameAccount: false)
        #expect(other.statistics.usage?.callsToday == 0)
        #expect(other.statistics.state == .open)
        #expect(other.statistics.billable == 3)
    }

    @Test("a call in flight is completed by the old client, and counted by the new client")
    @ServiceLoop
    func underWay() async throws {
        world.servers([:])
        let old = try world.client()
        let operation = try world.begin(old)
        await world.advance(by: .zero)
        #expect(old.statistics.inFlight == 1)
        let new = try world.client()
        new.takeOver(from: old, hasSameAccount: true)
        old.stop()
        #expect(new.statistics.inFlight == 1)
        _ = try await world.value(of: operation).get()
        for _ in 0..<2 {
            let statistics = new.statistics
            #expect(statistics.inFlight == 0)
            #expect(statistics.successes == 1)
            #expect(statistics.billable == 1)
        }
        #expect(new.predecessor == nil)
    }

    @Test("after a route was renamed, its costs are listed under the new name")
    @ServiceLoop
    func routes() async throws {
        world.servers([:])
        let client = try world.client()
        _ = try await world.lookUp(client)
        let route = try #require(client.statistics.billableByRoute.keys.first)
        client.renameRoutes { $0 == route ? "f:9" : $0 }
        #expect(client.statistics.billableByRoute == ["f:9": 1])
        #expect(client.costliestNames(1).map(\.route) == ["f:9"])
    }
}
