// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import Daemon

struct RenewalBudgetTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test
    func `changes every second mark the cache stale six times, then once a minute`() {
        var budget = RenewalBudget()
        let renewals = (0..<600).filter { budget.spend(start + .seconds($0)) == nil }
        #expect(renewals == [0, 1, 2, 3, 4, 5] + Array(stride(from: 60, to: 600, by: 60)))
    }

    @Test
    func `the next renewal is at the returned instant`() throws {
        var budget = RenewalBudget()
        for _ in 0..<RenewalBudget.burst { #expect(budget.spend(start) == nil) }
        let refused = budget.spend(start)
        let next = try #require(refused)
        #expect(next == start + RenewalBudget.interval)
        #expect(budget.spend(next) == nil)
    }

    @Test
    func `a quiet period restores the whole budget`() {
        var budget = RenewalBudget()
        for _ in 0..<RenewalBudget.burst { #expect(budget.spend(start) == nil) }
        let later = start + RenewalBudget.interval * RenewalBudget.burst
        for _ in 0..<RenewalBudget.burst { #expect(budget.spend(later) == nil) }
        #expect(budget.spend(later) != nil)
    }
}
