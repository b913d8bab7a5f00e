// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Net

@Suite("Budget of the loop's time for one provider")
struct LoopBudgetTests {
    private let start = Instant(nanoseconds: 0)

    private func isAvailable(_ budget: LoopBudget, at now: Instant) -> Bool {
        var budget = budget
        return budget.isAvailable(at: now)
    }

    @Test
    func `reading without a reply exhausts the budget`() {
        var budget = LoopBudget(at: start)
        budget.charge(.milliseconds(49), octets: 0, transfers: 0, at: start)
        #expect(isAvailable(budget, at: start))
        budget.charge(.milliseconds(1), octets: 0, transfers: 0, at: start)
        #expect(!isAvailable(budget, at: start))
    }

    @Test
    func `an exhausted budget is available again when half of it has leaked`() {
        var budget = LoopBudget(at: start)
        budget.charge(.seconds(1), octets: 0, transfers: 0, at: start)
        #expect(!isAvailable(budget, at: start + .milliseconds(249)))
        #expect(isAvailable(budget, at: start + .milliseconds(250)))
        budget.charge(.milliseconds(24), octets: 0, transfers: 0, at: start + .milliseconds(250))
        #expect(isAvailable(budget, at: start + .milliseconds(250)))
    }

    @Test
    func `a tenth of the loop's time is always allowed`() {
        var budget = LoopBudget(at: start)
        for second in 1...1000 {
            let now = start + .seconds(second) / 10
            budget.charge(.milliseconds(10), octets: 0, transfers: 0, at: now)
            #expect(isAvailable(budget, at: now))
        }
    }

    @Test(arguments: [(64 << 10, 0, 6), (0, 100, 200), (200, 1, 2)])
    func `octets and ended transfers earn time`(octets: Int, transfers: Int, milliseconds: Int) {
        var budget = LoopBudget(at: start)
        for _ in 0..<1000 {
            budget.charge(
                .milliseconds(milliseconds),
                octets: octets,
                transfers: transfers,
                at: start
            )
        }
        #expect(isAvailable(budget, at: start))
    }

    @Test
    func `replies earn time in advance, at most as much as the bucket holds`() {
        var budget = LoopBudget(at: start)
        budget.charge(.milliseconds(1), octets: 0, transfers: 1000, at: start)
        budget.charge(.milliseconds(99), octets: 0, transfers: 0, at: start + .seconds(1))
        #expect(isAvailable(budget, at: start + .seconds(1)))
        budget.charge(.milliseconds(1), octets: 0, transfers: 0, at: start + .seconds(1))
        #expect(!isAvailable(budget, at: start + .seconds(1)))
    }

    @Test
    func `one call overflows only beyond what is left and what its octets allow`() {
        var budget = LoopBudget(at: start)
        #expect(!budget.overflows(.milliseconds(50), octets: 0))
        #expect(budget.overflows(.milliseconds(51), octets: 0))
        #expect(!budget.overflows(.milliseconds(51), octets: 10_000))
        budget.charge(.milliseconds(40), octets: 0, transfers: 0, at: start)
        #expect(budget.overflows(.milliseconds(11), octets: 0))
    }

    @Test
    func `a provider gets as much reply memory as is free, so some is free for the next one`() {
        let memory = ReplyMemory(limit: 8)
        let shares = (0..<4).map { _ in ReplyMemory.Share(of: memory) }
        for share in shares {
            repeat { share.octets += 1 } while !share.isFull
            share.octets -= 1
        }
        #expect(shares.map(\.octets) == [4, 2, 1, 0])
        shares[0].octets = 0
        #expect(!shares[3].isFull)
    }
}
