// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import Daemon

struct ChangeBudgetTests {
    private let start = Instant(nanoseconds: 1_000_000_000)

    @Test
    func `changes every second are admitted six times, then once a minute`() {
        var budget = ChangeBudget(burst: 6, interval: .seconds(60))
        let admitted = (0..<600).filter { budget.spend(start + .seconds($0)) == nil }
        #expect(admitted == [0, 1, 2, 3, 4, 5] + Array(stride(from: 60, to: 600, by: 60)))
    }

    @Test
    func `after a refusal, a change is admitted at the returned instant`() throws {
        var budget = ChangeBudget(burst: 6, interval: .seconds(60))
        for _ in 0..<6 { #expect(budget.spend(start) == nil) }
        let refused = budget.spend(start)
        let next = try #require(refused)
        #expect(next == start + .seconds(60))
        #expect(budget.spend(next) == nil)
    }

    @Test
    func `a quiet period restores the whole budget`() {
        var budget = ChangeBudget(burst: 6, interval: .seconds(60))
        for _ in 0..<6 { #expect(budget.spend(start) == nil) }
        let later = start + .seconds(360)
        for _ in 0..<6 { #expect(budget.spend(later) == nil) }
        #expect(budget.spend(later) != nil)
    }
}
