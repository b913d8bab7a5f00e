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
        #expect(try await world.failure(client) == VendorFailure(reason: .budget))
        #expect(world.sent.count == 2)
        let statistics = client.statistics
        #expect(statistics.state == .overBudget(problem: nil))
        #expect(statistics.usage?.callsToday == 2)
        #expect(statistics.beyondBudget == 1)
        #expect(statistics.budget == Budget.Rule(callsPerDay: 2))
        #expect(statistics.dayEndsIn > .zero && statistics.dayEndsIn <= .seconds(86_400))
    }

    @Test(
        "a spent budget is reported once a day",
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

    @Test(
        "if the stored counts are unknown, a budget allows no call, and the log reports this once"
    )
    @ServiceLoop
    func unknown() async throws {
        world.servers([:])
        let rule = Budget.Rule(callsPerDay: 2)
        let client = try world.client(usage: FaultyUsage(.damage)) { $0.budget = rule }
        var notices: [VendorClient.Notice] = []
        client.observer = { notices.append($0) }
        client.start()
        #expect(notices == [.usageUnknown("damaged", rule)])
        for _ in 0..<3 { #expect(try await world.failure(client).reason == .budget) }
        #expect(client.statistics.state == .overBudget(problem: "damaged"))
        #expect(notices.count == 1 && world.sent.isEmpty)
        try client.resetUsage()
        _ = try await world.lookUp(client)
        #expect(client.statistics.state == .open)
    }

    @Test("a budget with `on-exceeded: warn` allows and counts calls beyond the limit")
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

    @Test("a request for which no connection was opened is not charged")
    @ServiceLoop
    func hedges() async throws {
        world.servers([1: .silence()])
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 1) }
        #expect(try await world.failure(client).reason.kind == .timeout)
        #expect(world.sent.count == 1)

        world.servers([1: .fail(.connect("refused"))])
        let other = try world.client { $0.budget = Budget.Rule(callsPerDay: 1) }
        _ = try await world.lookUp(other)
        #expect(other.statistics.usage?.callsToday == 1)
    }

    @Test("a request that is sent again on a new connection is charged again")
    @ServiceLoop
    func sentAgain() async throws {
        world.script = { $0.wantsFreshConnection ? .reply(good($0)) : .fail(.cutOff(reused: true)) }
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 3) }
        _ = try await world.lookUp(client)
        #expect(world.hosts == "11")
        #expect(world.sent.map(\.request.isSentOnce) == [true, true])
        #expect(client.statistics.usage?.callsToday == 2)
        #expect(client.statistics.units == UnitRange(atLeast: 1, atMost: 2))
        #expect(try await world.failure(client).reason == .budget)
        #expect(world.sent.count == 3)
    }

    @Test(
        "a refusal is free only over TLS, because a forged refusal must not make calls free",
        arguments: [401, 403, 429, 500],
        [false, true]
    )
    @ServiceLoop
    func forgedRefusals(status: Int, usesTLS: Bool) async throws {
        world.script = {
            namesAsked($0) == ["www.dnspod.cn"]
                ? .reply(good($0)) : .reply(HTTPReply(status: status, body: []))
        }
        let client = try world.client(servers: 1, vendor: try ClockedVendor(usesTLS: usesTLS)) {
            $0.budget = Budget.Rule(callsPerDay: 1_000, unitsPerDay: 10)
        }
        for number in 0..<40 {
            _ = try await world.failure(client, "n\(number).example.com")
            await world.advance(by: .seconds(1))
        }
        let usage = try #require(client.statistics.usage)
        let count = UInt64(world.sent.count)
        #expect(usage.unitsToday == (usesTLS ? UInt64(world.trials.count) : count))
        if !usesTLS { #expect(usage.callsToday == count && count <= 10) }
    }

    @Test("calls that end before a connection is open are not charged")
    @ServiceLoop
    func unsent() async throws {
        world.script = { _ in .silence(whileConnecting: true) }
        let client = try world.client { $0.budget = Budget.Rule(callsPerDay: 2) }
        let failure = try await world.failure(client)
        #expect(failure.reason.kind == .timeout)
        await world.advance(by: .seconds(5))
        #expect(client.statistics.tries == 4)
        #expect(client.statistics.usage?.callsToday == 0)
        _ = try world.begin(client, "other.example.com")
        await world.advance(by: .milliseconds(100))
        client.networkChanged()
        await world.advance(by: .seconds(10))
        #expect(client.statistics.billable == 0)
        #expect(client.statistics.billableNames == 0)
        #expect(client.costliestNames(9).isEmpty)
    }

    @Test("lookups above `calls-per-second` fail, so that the fallback answers")
    @ServiceLoop
    func pace() async throws {
        world.servers([:])
        let client = try world.client { $0.callsPerSecond = 4 }
        for name in 0..<4 { _ = try await world.lookUp(client, "n\(name).example.com") }
        for name in 4..<20 {
            let failure = try await world.failure(client, "n\(name).example.com")
            #expect(failure == VendorFailure(reason: .pace))
        }
        #expect(world.sent.count == 4)
        #expect(client.statistics.failuresByKind == [.pace: 16])
        #expect(client.statistics.state == .open)
        await world.advance(by: .milliseconds(250))
        _ = try await world.lookUp(client, "one.example.com")
        _ = try await world.failure(client, "two.example.com")
        await world.advance(by: .seconds(3_600))
        for name in 0..<4 { _ = try await world.lookUp(client, "m\(name).example.com") }
        _ = try await world.failure(client, "three.example.com")
        #expect(world.sent.count == 9)
    }

    @Test("hedged requests and retries count toward `calls-per-second`")
    @ServiceLoop
    func pacedHedges() async throws {
        world.servers([1: .silence()])
        let client = try world.client { $0.callsPerSecond = 1 }
        #expect(try await world.failure(client).reason.kind == .timeout)
        #expect(world.asked.count == 1)
    }

    @Test("if the account is unchanged, `calls-per-second` includes the calls before a reload")
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

    @Test("the daemon lists the names with the most billed requests")
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
        #expect(client.statistics.billableNames == 6)
    }

    @Test("each name of a call is charged to its own route")
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

@Suite("Budget counts")
@ServiceLoop
struct BudgetCountTests {
    /// Midnight of 2023-11-15 (UTC).
    private let midnight: Int64 = 1_700_006_400
    private let day: Int64 = 86_400

    private let store = UsageMemory()

    private func budget(_ rule: Budget.Rule?, cheapest: UInt64 = 1) -> Budget {
        Budget(rule, vendor: "v", cheapest: cheapest, store: store)
    }

    private func spendAll(_ budget: inout Budget, units: UInt64 = 1, at time: Int64) -> Int {
        var count = 0
        while count < 100_000, budget.spend(units: units, wallSeconds: time) != nil { count += 1 }
        return count
    }

    @Test("each UTC day begins with the full budget")
    func days() {
        var budget = budget(Budget.Rule(callsPerDay: 2))
        #expect(midnight % day == 0)
        #expect(spendAll(&budget, at: midnight - 1) == 2)
        #expect(budget.forbids(wallSeconds: midnight - 1) == true)
        #expect(budget.forbids(wallSeconds: midnight) == false)
        #expect(budget.spend(units: 1, wallSeconds: midnight) != nil)
        #expect(budget.usage(wallSeconds: midnight + day - 1)?.callsToday == 1)
        #expect(budget.exceeded == 1)
    }

    @Test("a monthly limit is reset at the start of the next month")
    func month() {
        var budget = budget(Budget.Rule(unitsPerMonth: 20), cheapest: 5)
        #expect(spendAll(&budget, units: 5, at: midnight) == 4)
        #expect(spendAll(&budget, units: 5, at: midnight + 14 * day) == 0)
        #expect(spendAll(&budget, units: 5, at: midnight + 16 * day) == 4)
    }

    @Test("if the clock is set back, the budget is not renewed")
    func setBack() {
        var budget = budget(Budget.Rule(callsPerDay: 1))
        #expect(budget.spend(units: 1, wallSeconds: midnight) != nil)
        #expect(budget.spend(units: 1, wallSeconds: midnight - 1) == nil)
        #expect(budget.spend(units: 1, wallSeconds: -1) == nil)
        #expect(budget.spend(units: 1, wallSeconds: 0) != nil)
    }

    @Test("a day ends at midnight in UTC, even before 1970")
    func dayEnd() {
        #expect(Budget.secondsLeft(wallSeconds: midnight - 1) == 1)
        #expect(Budget.secondsLeft(wallSeconds: midnight) == 86_400)
        #expect(Budget.secondsLeft(wallSeconds: -1) == 1)
    }

    @Test(
        "a spent monthly limit lasts until the next month, and a spent daily limit until midnight"
    )
    func monthEnd() {
        var monthly = budget(Budget.Rule(callsPerDay: 10, unitsPerMonth: 20), cheapest: 5)
        #expect(monthly.secondsSpent(wallSeconds: midnight) == day)
        #expect(spendAll(&monthly, units: 5, at: midnight) == 4)
        let days = UsageRecord.daysLeftInMonth(midnight / day)
        #expect(days > 1)
        #expect(monthly.secondsSpent(wallSeconds: midnight + 10) == days * day - 10)
        var daily = ownBudget(Budget.Rule(callsPerDay: 2, unitsPerMonth: 20))
        #expect(spendAll(&daily, at: midnight) == 2)
        #expect(daily.secondsSpent(wallSeconds: midnight + 10) == day - 10)
    }

    @Test("a refund for a call of an earlier day does not raise today's budget")
    func refund() throws {
        var budget = budget(Budget.Rule(callsPerDay: 1))
        let first = budget.spend(units: 1, wallSeconds: midnight - 1)
        let old = try #require(first)
        budget.settle(old, actual: .none, wallSeconds: midnight - 1)
        let second = budget.spend(units: 1, wallSeconds: midnight - 1)
        let again = try #require(second)
        #expect(budget.spend(units: 1, wallSeconds: midnight) != nil)
        budget.settle(again, actual: .none, wallSeconds: midnight)
        #expect(budget.spend(units: 1, wallSeconds: midnight) == nil)
    }

    @Test("if the clock jumps to a wrong day and back, the budget is not renewed")
    func returningClock() {
        for wrong in [0, midnight - 1, midnight + 10_000 * day] {
            let store = UsageMemory()
            let rule = Budget.Rule(callsPerDay: 2, unitsPerMonth: 3)
            var budget = Budget(rule, vendor: "v", cheapest: 1, store: store)
            #expect(spendAll(&budget, at: min(wrong, midnight)) == 2)
            let first = spendAll(&budget, at: max(wrong, midnight))
            #expect(first == (wrong == midnight - 1 ? 1 : 2))
            for time in [wrong, midnight, wrong, midnight] {
                #expect(spendAll(&budget, at: time) == 0, "\(wrong), \(time)")
            }
            let second = spendAll(&budget, at: midnight + day)
            #expect(second == (wrong == 0 ? 1 : 0), "\(wrong)")
            #expect(spendAll(&budget, at: midnight + 16 * day) == 2)
        }
    }

    @Test("if the clock is ahead and then corrected, the counts of the day contain all calls")
    func wrongClockAtStart() {
        for wrong in [midnight + day, midnight + 20 * day, midnight + 400 * day] {
            var budget = ownBudget(Budget.Rule(callsPerDay: 10, unitsPerMonth: 100))
            for _ in 0..<8 { #expect(budget.spend(units: 1, wallSeconds: midnight) != nil) }
            #expect(budget.spend(units: 1, wallSeconds: wrong) != nil)
            #expect(budget.usage(wallSeconds: wrong)?.callsToday == 1)
            #expect(budget.usage(wallSeconds: midnight)?.callsToday == 9)
            #expect(budget.usage(wallSeconds: midnight)?.unitsThisMonth == 9)
            #expect(spendAll(&budget, at: midnight) == 1)
            // If the wrong clock showed the day after `midnight`, that day already has one call.
            let first = wrong == midnight + day ? 9 : 10
            #expect(spendAll(&budget, at: midnight + day) == first)
        }
    }

    @Test(
        "if the clock is behind at each boot, the budget is not renewed",
        arguments: [1, 100],
        [0, 3]
    )
    func clockBehindAtBoot(_ daysBehind: Int64, _ calls: Int) {
        var budget = ownBudget(Budget.Rule(callsPerDay: 10, unitsPerMonth: 25))
        #expect(budget.spend(units: 1, wallSeconds: midnight) != nil)
        var total = 1
        for boot in 0..<4 {
            let today = midnight + Int64(boot) * day
            for hour in [today, today + 3_600] {
                let wrong = hour - daysBehind * day
                for _ in 0..<calls where budget.spend(units: 1, wallSeconds: wrong) != nil {
                    total += 1
                }
                if calls > 0, budget.spend(units: 1, wallSeconds: wrong + day) != nil {
                    total += 1
                }
                total += spendAll(&budget, at: hour)
            }
            if boot == 0, calls == 0 { #expect(total == 10) }
        }
        #expect(total <= 25)
        #expect(budget.usage(wallSeconds: midnight + 3 * day)?.unitsThisMonth == UInt64(total))
    }

    @Test("if the clock was ahead once, and is behind at each boot, the budget is not renewed")
    func clockAheadAndBehind() {
        var budget = ownBudget(Budget.Rule(callsPerDay: 10))
        var total = spendAll(&budget, at: midnight)
        _ = budget.spend(units: 1, wallSeconds: midnight + 1_000 * day)
        for behind: Int64 in [100, 1, 100, 7] {
            total += spendAll(&budget, at: midnight)
            total += spendAll(&budget, at: midnight - behind * day)
        }
        total += spendAll(&budget, at: midnight)
        #expect(total == 10)
    }

    @Test(
        "if the clock was ahead at first, then behind at each boot, no boot renews the budget",
        arguments: [
            ([1_000], -100), ([0, 1_000], -100), ([-100, 1_000], -100), ([1], -1), ([0, 1], -1),
            ([0, 1, 0, 1], -1),
        ] as [([Int64], Int64)]
    )
    func clockAheadThenBehind(_ first: [Int64], _ behind: Int64) {
        var budget = ownBudget(Budget.Rule(callsPerDay: 20, unitsPerMonth: 40))
        var total = 0
        for offset in first + [behind, 0, behind, 0, behind, 0, behind, 0] {
            let time = midnight + offset * day
            if offset == 0 { total += spendAll(&budget, at: time) }
            _ = budget.usage(wallSeconds: time)
        }
        #expect(total == 20)
    }

    @Test("if the clock was ahead once, and is behind at each boot, no count is lost")
    func clockAheadLosesNothing() {
        var budget = ownBudget(Budget.Rule(callsPerDay: 20, unitsPerMonth: 40))
        _ = budget.usage(wallSeconds: midnight + 1_000 * day)
        for boot: UInt64 in 1...10 {
            _ = budget.usage(wallSeconds: midnight - 100 * day)
            #expect(budget.spend(units: 1, wallSeconds: midnight) != nil)
            #expect(budget.usage(wallSeconds: midnight)?.callsToday == boot)
            #expect(budget.usage(wallSeconds: midnight)?.unitsThisMonth == boot)
        }
    }

    private func ownBudget(_ rule: Budget.Rule) -> Budget {
        Budget(rule, vendor: "v", cheapest: 1, store: UsageMemory())
    }

    @Test("if the clock jumps between two days, the budget of each day is spent only once")
    func jumpingClock() {
        var budget = ownBudget(Budget.Rule(callsPerDay: 10))
        var total = spendAll(&budget, at: midnight)
        for _ in 0..<5 {
            for time in [midnight + 20 * day, midnight] { total += spendAll(&budget, at: time) }
        }
        #expect(total == 20)
    }

    @Test("a reply after midnight does not change the counts of the new day")
    func lateReply() throws {
        let rule = Budget.Rule(unitsPerDay: 10)
        var (first, second) = (budget(rule), budget(rule))
        let receipt = first.spend(units: 5, wallSeconds: midnight - 1)
        #expect(spendAll(&second, at: midnight) == 10)
        first.settle(try #require(receipt), actual: .none, wallSeconds: midnight)
        #expect(spendAll(&second, at: midnight) == 0)
        #expect(spendAll(&first, at: midnight) == 0)
    }

    @Test("a refund for a request before a reset does not raise the budget")
    func resetInFlight() throws {
        var budget = budget(Budget.Rule(callsPerDay: 2))
        let receipt = budget.spend(units: 1, wallSeconds: midnight)
        try budget.reset(wallSeconds: midnight)
        budget.settle(try #require(receipt), actual: .none, wallSeconds: midnight)
        #expect(spendAll(&budget, at: midnight) == 2)
    }

    @Test("if a charge cannot be stored, the budget does not allow the request")
    func fullDisk() {
        var budget = Budget(
            Budget.Rule(unitsPerDay: 10),
            vendor: "v",
            cheapest: 1,
            store: FaultyUsage(.fullDisk)
        )
        for second in 0..<5 {
            #expect(budget.spend(units: 1, wallSeconds: midnight + Int64(second)) == nil)
        }
        #expect(budget.exceeded == 5)
    }

    @Test("with counts in memory only, a budget allows calls only with `on-exceeded: warn`")
    func ephemeral() {
        let store = FaultyUsage(.noFile)
        func budget(_ excess: Budget.Excess) -> Budget {
            let rule = Budget.Rule(unitsPerDay: 2, onExceeded: excess)
            return Budget(rule, vendor: "v", cheapest: 1, store: store)
        }
        var strict = budget(.fallback)
        #expect(strict.spend(units: 1, wallSeconds: midnight) == nil)
        #expect(strict.forbids(wallSeconds: midnight) == true)
        #expect(strict.unknownBecause == "unknown")
        var warning = budget(.warn)
        for _ in 0..<3 { #expect(warning.spend(units: 1, wallSeconds: midnight) != nil) }
        #expect(warning.unknownBecause == nil && warning.problem == "not stored")
        #expect(warning.usage(wallSeconds: midnight)?.unitsToday == 3)
        #expect(warning.exceeded == 1)
    }

    @Test("a refund for a charge that was not stored does not reduce the stored counts")
    func unstoredRefund() throws {
        let store = FaultyUsage()
        var budget = Budget(nil, vendor: "v", cheapest: 1, store: store)
        #expect(budget.spend(units: 50, wallSeconds: midnight) != nil)
        store.fault = .damage
        let lost = budget.spend(units: 40, wallSeconds: midnight)
        store.fault = nil
        budget.settle(try #require(lost), actual: .none, wallSeconds: midnight)
        budget.release(wallSeconds: midnight)
        let stored = store.update("v", today: midnight / day, durably: true) { _ in false }
        #expect(try #require(stored).unitsToday >= 50)
    }

    @Test("without a limit, the budget counts and allows every call")
    func unlimited() {
        var budget = budget(nil)
        for _ in 0..<1_000 { #expect(budget.spend(units: 5, wallSeconds: midnight) != nil) }
        #expect(budget.usage(wallSeconds: midnight)?.callsToday == 1_000)
        #expect(budget.usage(wallSeconds: midnight)?.unitsThisMonth == 5_000)
        #expect(budget.exceeded == 0)
    }

    @Test(
        "the stored counts exceed the real use by at most one reservation for each limit",
        arguments: [
            Budget.Rule(unitsPerMonth: 10_000_000),
            Budget.Rule(callsPerDay: 10_000, unitsPerMonth: 10_000_000),
            Budget.Rule(callsPerDay: 100_000),
        ]
    )
    func reservation(_ rule: Budget.Rule) throws {
        let store = UsageMemory()
        var budget = Budget(rule, vendor: "v", cheapest: 1, store: store)
        let block = rule.unitsPerMonth.map { min(10, $0 / 1_000) } ?? 10
        var spent: UInt64 = 0
        for today in 0..<3 {
            for _ in 0..<3_000 {
                let now = midnight + day * Int64(today)
                let receipt = budget.spend(units: 1, wallSeconds: now)
                #expect(receipt != nil)
                spent += 1
                let stored = store.update("v", today: now / day, durably: true) { _ in false }
                let count = try #require(stored).unitsThisMonth
                #expect(count >= spent && count <= spent + block + 1)
            }
        }
    }

    @Test("after a reload, a late request of the old vendor client reserves only its own cost")
    func releasedReservation() throws {
        let rule = Budget.Rule(callsPerDay: 100_000, unitsPerMonth: 10_000_000)
        var old = budget(rule)
        #expect(old.spend(units: 1, wallSeconds: midnight) != nil)
        var new = budget(rule)
        new.takeOver(from: &old)
        let hedge = old.spend(units: 1, wallSeconds: midnight)
        let actual = UsageAmount(calls: 1, units: 1)
        old.settle(try #require(hedge), actual: actual, wallSeconds: midnight)
        new.release(wallSeconds: midnight)
        var other = budget(rule)
        #expect(other.usage(wallSeconds: midnight)?.callsToday == 2)
        #expect(other.usage(wallSeconds: midnight)?.unitsThisMonth == 2)
    }

    @Test("after a crash, the count is too high by at most 10 units and at most 0.1 % of the limit")
    func crash() {
        for (rule, block) in [
            (Budget.Rule(unitsPerDay: 500_000), 10), (Budget.Rule(unitsPerDay: 5_000), 5),
            (Budget.Rule(unitsPerDay: 100), 0), (nil, 10),
        ] as [(Budget.Rule?, UInt64)] {
            let store = UsageMemory()
            var spent: UInt64 = 0
            for _ in 0..<20 {
                var budget = Budget(rule, vendor: "v", cheapest: 1, store: store)
                let before = budget.usage(wallSeconds: midnight)?.unitsToday ?? 0
                for _ in 0..<7 where budget.spend(units: 1, wallSeconds: midnight) != nil {
                    spent += 1
                }
                #expect((budget.usage(wallSeconds: midnight)?.unitsToday ?? 0) <= before + 7)
                let stored =
                    store.update("v", today: midnight / day, durably: true) { _ in false }?
                    .unitsToday ?? 0
                #expect(stored >= spent && stored <= before + 7 + block)
            }
        }
    }

    @Test(
        "without a limit, a reservation is a tenth of the last second's units, but at least 10"
    )
    func busy() throws {
        let store = UsageMemory()
        var budget = Budget(nil, vendor: "v", cheapest: 1, store: store)
        func surplus(after spent: UInt64) throws -> UInt64 {
            let stored = store.update("v", today: midnight / day, durably: true) { _ in false }
            return try #require(stored).unitsToday - spent
        }
        for _ in 0..<3_000 { _ = budget.spend(units: 1, wallSeconds: midnight) }
        #expect(try surplus(after: 3_000) <= 10)
        var largest: UInt64 = 0
        for count in 1...1_000 as ClosedRange<UInt64> {
            _ = budget.spend(units: 1, wallSeconds: midnight + 1)
            largest = max(largest, try surplus(after: 3_000 + count))
        }
        #expect(largest == 300)
    }

    @Test("daemons that share the counts never exceed the limit")
    func shared() {
        let rule = Budget.Rule(unitsPerDay: 10_007)
        var budgets = (0..<3).map { _ in budget(rule, cheapest: 5) }
        var spent = 0
        for round in 0..<2_000 {
            let index = round % budgets.count
            var budget = budgets[index]
            if budget.spend(units: 5, wallSeconds: midnight + Int64(round)) != nil { spent += 5 }
            budgets[index] = budget
        }
        for index in budgets.indices {
            var budget = budgets[index]
            budget.release(wallSeconds: midnight + 3_000)
        }
        #expect(spent <= 10_007 && spent > 10_007 - 3 * 15)
        let stored = store.update("v", today: midnight / day, durably: true) { _ in false }?
            .unitsToday
        #expect(stored == UInt64(spent))
    }

    @Test("if the stored counts are unknown, a budget with a limit allows no call until a reset")
    func damaged() throws {
        let store = FaultyUsage(.damage)
        var budget = Budget(Budget.Rule(unitsPerDay: 10), vendor: "v", cheapest: 1, store: store)
        #expect(budget.spend(units: 1, wallSeconds: midnight) == nil)
        #expect(budget.forbids(wallSeconds: midnight) == true)
        #expect(budget.usage(wallSeconds: midnight) == nil)
        var unlimited = Budget(nil, vendor: "v", cheapest: 1, store: store)
        #expect(unlimited.spend(units: 1, wallSeconds: midnight) != nil)
        try budget.reset(wallSeconds: midnight)
        #expect(budget.spend(units: 1, wallSeconds: midnight) != nil)
    }
}

@ServiceLoop
private final class FaultyUsage: UsageStore {
    enum Fault {
        /// The stored counts can be neither read nor changed.
        case damage

        /// The stored counts can be read, but not changed.
        case fullDisk

        case noFile
    }

    var fault: Fault?
    private let memory = UsageMemory()
    private var isDurable = false

    nonisolated init(_ fault: Fault? = nil) { self.fault = fault }

    var problem: String? {
        switch fault {
        case .damage: "damaged"
        case .fullDisk: "disk full"
        case .noFile: isDurable ? "unknown" : "not stored"
        case nil: nil
        }
    }

    func update(
        _ vendor: String,
        today: Int64,
        durably: Bool,
        _ change: @escaping @Sendable (inout UsageRecord) -> Bool
    ) -> UsageRecord? {
        isDurable = durably
        switch fault {
        case .damage: return nil
        case .fullDisk:
            var record = UsageRecord(day: today)
            return change(&record) ? nil : record
        case .noFile where durably: return nil
        default: return memory.update(vendor, today: today, durably: durably, change)
        }
    }

    func reset(_ vendor: String, today: Int64) { fault = nil }
}

@Suite("Most expensive names")
struct CostTableTests {
    @Test("a full table replaces the cheapest name, and reports the possible error of the count")
    func full() throws {
        var table = CostTable(limit: 2)
        let names = try ["a", "b", "c"].map { try Name($0) }
        for index in [0, 0, 0, 1, 2] {
            table.note(CostTable.Charge(name: names[index], route: "r"), units: 1)
        }
        let top = table.top(9)
        #expect(top.map(\.name) == [names[0], names[2]])
        #expect(top.map(\.calls) == [3, 2])
        #expect(top.map(\.excess) == [0, 1])
    }

    @Test(
        "each count is exact within the reported error, and no expensive name is missing"
    )
    func bounds() throws {
        var generator = SeededGenerator(state: 7)
        var table = CostTable(limit: 32)
        var truth: [Name: UInt64] = [:]
        for _ in 0..<20_000 {
            let number = Int.random(
                in: 0..<Int.random(in: 1...300, using: &generator),
                using: &generator
            )
            let name = try Name("n\(number)")
            truth[name, default: 0] += 1
            table.note(CostTable.Charge(name: name, route: "r"), units: 1)
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
