// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import HTTPDNS

@Suite("Budget and cost of calls")
struct BudgetTests {
    let world = Simulation()

    @Test("a spent budget stops calls, and the fallback answers")
    @ServiceLoop
    func fallback() async throws {
        world.servers([:])
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 2) }
        _ = try await world.lookUp(client)
        _ = try await world.lookUp(client)
        #expect(try await world.failure(client) == VendorFailure(reason: .budget, tries: []))
        #expect(world.sent.count == 2)
        let statistics = client.statistics
        #expect(statistics.state == .overBudget)
        #expect(statistics.spentToday == 2)
        #expect(statistics.beyondBudget == 1)
        #expect(statistics.budget == Budget.Rule(callsPerDay: 2))
        #expect(statistics.dayEndsIn > .zero && statistics.dayEndsIn <= .seconds(86_400))
    }

    @Test(
        "a spent budget is reported once a day, for each policy",
        arguments: Budget.Excess.allCases
    )
    @ServiceLoop
    func notice(excess: Budget.Excess) async throws {
        world.servers([:])
        let rule = Budget.Rule(callsPerDay: 2, onExceeded: excess)
        let client = try world.client { $0.budget = rule }
        var notices: [VendorClient.Notice] = []
        client.observer = { notices.append($0) }
        _ = try await world.lookUp(client)
        #expect(notices == [])
        for _ in 0..<3 { _ = try? await world.lookUp(client) }
        #expect(notices == [.budgetSpent(rule)])
        await world.advance(by: .seconds(86_400))
        for _ in 0..<3 { _ = try? await world.lookUp(client) }
        #expect(notices == [.budgetSpent(rule), .budgetSpent(rule)])
    }

    @Test("a budget that warns allows calls, and counts the excess")
    @ServiceLoop
    func warn() async throws {
        world.servers([:])
        let client = try world.client {
            $0.budget = Budget.Rule(callsPerDay: 1, onExceeded: .warn)
        }
        for _ in 0..<3 { _ = try await world.lookUp(client) }
        #expect(client.statistics.beyondBudget == 2)
        #expect(client.statistics.state == .open)
    }

    @Test("hedged requests are charged, requests without a connection are not")
    @ServiceLoop
    func hedges() async throws {
        world.servers([1: .silence()])
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 1) }
        #expect(try await world.failure(client).reason.kind == .timeout)
        #expect(world.sent.count == 1)

        world.servers([1: .fail(.connect("refused"))])
        let other = try world.client { $0.budget = Budget.Rule(callsPerDay: 1) }
        _ = try await world.lookUp(other)
        #expect(other.statistics.spentToday == 1)
    }

    @Test("calls that end while connecting are free")
    @ServiceLoop
    func unsent() async throws {
        world.script = { _ in .silence(whileConnecting: true) }
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 2) }
        let failure = try await world.failure(client)
        #expect(failure.reason.kind == .timeout)
        await world.advance(by: .seconds(5))
        #expect(client.statistics.tries == 4, "one per server, and the same for the probe")
        #expect(client.statistics.spentToday == 0)
        // A network change cancels this call.
        _ = try world.begin(client, "other.example.com")
        await world.advance(by: .milliseconds(100))
        client.networkChanged()
        await world.advance(by: .seconds(10))
        #expect(client.statistics.billable == 0)
        #expect(client.statistics.billableNames == 0)
        #expect(client.costliestNames(9).isEmpty)
    }

    @Test("calls above the rate use the fallback until time has passed")
    @ServiceLoop
    func pace() async throws {
        world.servers([:])
        let client = try world.client { $0.callsPerSecond = 4 }
        for name in 0..<4 { _ = try await world.lookUp(client, "n\(name).example.com") }
        for name in 4..<20 {
            let failure = try await world.failure(client, "n\(name).example.com")
            #expect(failure == VendorFailure(reason: .pace, tries: []))
        }
        #expect(world.sent.count == 4)
        #expect(client.statistics.failuresByKind == [.pace: 16])
        #expect(client.statistics.state == .open)
        await world.advance(by: .milliseconds(250))
        _ = try await world.lookUp(client, "one.example.com")
        _ = try await world.failure(client, "two.example.com")
        // At most the calls of one second accumulate.
        await world.advance(by: .seconds(3_600))
        for name in 0..<4 { _ = try await world.lookUp(client, "m\(name).example.com") }
        _ = try await world.failure(client, "three.example.com")
        #expect(world.sent.count == 9)
    }

    @Test("hedged requests and retries count toward the rate")
    @ServiceLoop
    func pacedHedges() async throws {
        world.servers([1: .silence()])
        let client = try world.client { $0.callsPerSecond = 1 }
        #expect(try await world.failure(client).reason.kind == .timeout)
        #expect(world.asked.count == 1)
    }

    @Test("a new client of the same account keeps the spent budget")
    @ServiceLoop
    func pacedSuccession() async throws {
        world.servers([:])
        let old = try world.client { $0.callsPerSecond = 1 }
        _ = try await world.lookUp(old)
        let new = try world.client { $0.callsPerSecond = 1 }
        new.takeOver(from: old, hasSameAccount: true)
        #expect(try await world.failure(new).reason == .pace)
        let other = try world.client { $0.callsPerSecond = 1 }
        other.takeOver(from: old, hasSameAccount: false)
        _ = try await world.lookUp(other)
    }

    @Test("the most expensive names are listed")
    @ServiceLoop
    func costliest() async throws {
        world.servers([:])
        let client = try world.client()
        for name in ["a", "b", "a", "c", "a", "b"] {
            _ = try await world.lookUp(client, "\(name).example.com")
        }
        let top = client.costliestNames(2)
        #expect(top.map(\.name) == [try Name("a.example.com"), try Name("b.example.com")])
        #expect(top.map(\.calls) == [3, 2])
        client.forgetCosts()
        #expect(client.costliestNames(9).isEmpty)
        #expect(client.statistics.billableNames == 6, "costs survive the end of a call")
    }

    @Test("each name of a batch is charged to its route")
    @ServiceLoop
    func routes() async throws {
        world.servers([:])
        let client = try world.client { $0.batching = .together }
        let begun = try [("a", "one"), ("b", "two"), ("c", "two")].map { label, route in
            try world.begin(client, "\(label).example.com", route: route)
        }
        for one in begun { _ = try await world.value(of: one).get() }
        let statistics = client.statistics
        #expect(world.sent.count == 1)
        #expect(statistics.billable == 1)
        #expect(statistics.billableNames == 3)
        #expect(statistics.billableByRoute == ["one": 1, "two": 2])
        #expect(client.costliestNames(9).map(\.route) == ["one", "two", "two"])
    }
}

@Suite("Daily budget")
struct DailyBudgetTests {
    /// Midnight in UTC.
    private let midnight: Int64 = 1_700_006_400

    @Test("a UTC day starts with a full budget")
    func days() {
        var budget = Budget(Budget.Rule(callsPerDay: 2))
        #expect(midnight % 86_400 == 0)
        #expect(budget.spend(wallSeconds: midnight - 1) == true)
        #expect(budget.spend(wallSeconds: midnight - 1) == true)
        #expect(budget.spend(wallSeconds: midnight - 1) == false)
        #expect(budget.forbids(wallSeconds: midnight - 1))
        #expect(!budget.forbids(wallSeconds: midnight))
        #expect(budget.spend(wallSeconds: midnight) == true)
        #expect(budget.spent(wallSeconds: midnight + 86_399) == 1)
        #expect(budget.exceeded == 1)
    }

    @Test("a clock that is set back, even before 1970, blocks no call")
    func setBack() {
        var budget = Budget(Budget.Rule(callsPerDay: 1))
        #expect(budget.spend(wallSeconds: midnight) == true)
        #expect(budget.spend(wallSeconds: 0) == true)
        #expect(budget.spend(wallSeconds: -1) == true)
        #expect(budget.spend(wallSeconds: -86_400) == false)
    }

    @Test("a day ends at midnight in UTC, even before 1970")
    func dayEnd() {
        #expect(Budget.secondsLeft(wallSeconds: midnight - 1) == 1)
        #expect(Budget.secondsLeft(wallSeconds: midnight) == 86_400)
        #expect(Budget.secondsLeft(wallSeconds: -1) == 1)
    }

    @Test("a refund does not exceed the spent calls")
    func refund() {
        var budget = Budget(Budget.Rule(callsPerDay: 1))
        budget.refund()
        #expect(budget.spend(wallSeconds: midnight) == true)
        budget.refund()
        #expect(budget.spend(wallSeconds: midnight) == true)
        #expect(budget.spend(wallSeconds: midnight) == false)
    }

    @Test("without a limit every call is counted and allowed")
    func unlimited() {
        var budget = Budget(nil)
        for _ in 0..<1_000 { #expect(budget.spend(wallSeconds: midnight) == true) }
        #expect(budget.spent(wallSeconds: midnight) == 1_000)
        #expect(budget.exceeded == 0)
    }
}

@Suite("Most expensive names")
struct CostTableTests {
    @Test("a full table replaces the cheapest name, and reports the error")
    func full() throws {
        var table = CostTable(limit: 2)
        let names = try ["a", "b", "c"].map { try Name($0) }
        for index in [0, 0, 0, 1, 2] {
            table.note(CostTable.Charge(name: names[index], route: "r"))
        }
        let top = table.top(9)
        #expect(top.map(\.name) == [names[0], names[2]])
        #expect(top.map(\.calls) == [3, 2])
        #expect(top.map(\.excess) == [0, 1])
    }

    @Test(
        "counts are never too low, exceed the true value at most by the reported error, and no expensive name is missing"
    )
    func bounds() throws {
        var generator = SeededGenerator(state: 7)
        var table = CostTable(limit: 32)
        var truth: [Name: UInt64] = [:]
        for _ in 0..<20_000 {
            // Small numbers are more frequent.
            let number = Int.random(
                in: 0..<Int.random(in: 1...300, using: &generator),
                using: &generator
            )
            let name = try Name("n\(number)")
            truth[name, default: 0] += 1
            table.note(CostTable.Charge(name: name, route: "r"))
        }
        let top = table.top(32)
        for entry in top {
            let calls = truth[entry.name] ?? 0
            #expect(entry.calls >= calls && entry.calls - entry.excess <= calls)
        }
        for (name, calls) in truth where calls > 20_000 / 32 {
            #expect(top.contains { $0.name == name })
        }
    }
}
