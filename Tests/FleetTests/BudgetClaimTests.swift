// SPDX-License-Identifier: Apache-2.0
import Net
import Testing

@testable import Fleet

/// Redis hash of one limit; claims change the hash by the rule of the Lua script.
private struct Engine {
    var claims: [Int: UInt64] = [:]

    mutating func claim(_ member: Int, used: UInt64, want: UInt64, limit: UInt64) -> (
        claimed: UInt64, total: UInt64
    ) {
        let own = claims[member] ?? 0
        let others = claims.values.reduce(0, +) - own
        let claim = max(used, min(want, limit - min(limit, others)))
        claims[member] = claim
        return (min(claim, limit), others + claim)
    }
}

private let cost: [UInt64] = [1, 1, 1]

private struct Machine {
    let number: Int
    var claim: BudgetClaim
    var used: UInt64 = 0
    var isCut = false

    init(_ number: Int, limit: UInt64, members: Int = 1) {
        self.number = number
        claim = BudgetClaim([limit, nil, nil], day: 1, month: 1, members: members)
    }

    var use: [UInt64] { [used, used, used] }

    mutating func ask(_ engine: inout Engine, limit: UInt64, members: Int) {
        guard !isCut else { return }
        let want = claim.wanted(use, cost)[0] ?? 0
        let reply = engine.claim(number, used: used, want: want, limit: limit)
        claim.take([reply, nil, nil], members: members, isSettled: true)
    }

    mutating func call() -> Bool {
        guard used < claim.allowed[0] ?? 0 else { return false }
        used += 1
        return true
    }
}

private struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

@Suite("Claims to a shared budget")
struct BudgetClaimTests {
    @Test(arguments: [1, 2, 3, 7, 20], [1, 10, 999, 10_000] as [UInt64])
    func `machines with Redis use the whole budget, and no more`(count: Int, limit: UInt64) {
        var (engine, random) = (Engine(), Seeded(seed: limit &+ UInt64(count)))
        var machines = (0..<count).map { Machine($0, limit: limit) }
        for index in machines.indices { machines[index].ask(&engine, limit: limit, members: count) }
        var failures = 0
        while failures < 50 * count {
            let index = Int.random(in: 0..<count, using: &random)
            if machines[index].claim.isShort(machines[index].use, cost) {
                machines[index].ask(&engine, limit: limit, members: count)
            }
            if machines[index].call() { failures = 0 } else { failures += 1 }
            if failures > 0, let rich = machines.indices.randomElement(using: &random) {
                machines[rich].ask(&engine, limit: limit, members: count)
            }
        }
        let sum = machines.reduce(0) { $0 + $1.used }
        #expect(sum <= limit)
        // A machine may claim slightly less than its share, so the sum may be just below the limit.
        #expect(sum + UInt64(count) >= limit || sum * 100 >= limit * 97, "\(sum) of \(limit)")
    }

    @Test
    func `a machine without Redis keeps its claim, and gets a share of the remaining budget`() {
        var engine = Engine()
        let limit: UInt64 = 1_000
        var machines = (0..<4).map { Machine($0, limit: limit) }
        for index in machines.indices { machines[index].ask(&engine, limit: limit, members: 4) }
        for index in machines.indices { machines[index].isCut = true }
        for index in machines.indices { machines[index].claim.lose(members: 0) }
        for index in machines.indices { while machines[index].call() {} }
        let sum = machines.reduce(0) { $0 + $1.used }
        // Each machine learned the sum of the claims at a different time, so the sum of the used
        // units may differ from the limit.
        #expect((900...1_100).contains(sum), "\(machines.map(\.used))")
        #expect(machines.allSatisfy { (200...300).contains($0.used) }, "\(machines.map(\.used))")
        for index in machines.indices {
            machines[index].isCut = false
            machines[index].ask(&engine, limit: limit, members: 4)
        }
        for index in machines.indices {
            machines[index].ask(&engine, limit: limit, members: 4)
            while machines[index].call() {}
        }
        #expect(machines.reduce(0) { $0 + $1.used } == sum)
    }

    @Test(arguments: 0..<200)
    func `three machines use at most twice the budget, or three times if Redis loses data`(
        seed: UInt64
    ) {
        let isHashLost = seed.isMultiple(of: 2)
        var (engine, random) = (Engine(), Seeded(seed: seed))
        let limit = UInt64.random(in: 1...500, using: &random)
        var machines = (0..<3).map { Machine($0, limit: limit, members: 3) }
        for _ in 0..<3_000 {
            let index = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case 0:
                machines[index].isCut = true
                machines[index].claim.lose(members: 0)
            case 1...3:
                machines[index].isCut = false
                machines[index].ask(&engine, limit: limit, members: 3)
            case 4:
                let old = machines[index]
                machines[index].claim = BudgetClaim(
                    [limit, nil, nil],
                    day: 1,
                    month: 1,
                    members: old.claim.members
                )
                machines[index].claim.restore(
                    old.claim.limits.map { $0.map { ($0.claimed, $0.total) } }
                )
            case 5 where isHashLost: engine.claims = [:]
            default:
                if machines[index].claim.isShort(machines[index].use, cost) {
                    machines[index].ask(&engine, limit: limit, members: 3)
                }
                _ = machines[index].call()
            }
        }
        let sum = machines.reduce(0) { $0 + $1.used }
        // After lost connections and restarts, the machines may use twice the limit in total.
        #expect(sum <= (isHashLost ? 3 : 2) * limit + 3, "\(sum) of \(limit)")
    }

    @Test
    func `a new day removes the claims for the old day, a new month those for the old month`() {
        var claim = BudgetClaim([100, nil, 3_000], day: 1, month: 1, members: 1)
        claim.take([(5, 50), nil, (60, 600)], members: 2, isSettled: true)
        claim.begin(day: 2, month: 1)
        #expect(claim.allowed == [12, nil, 60])
        claim.take([(5, 50), nil, (60, 600)], members: 2, isSettled: true)
        #expect(claim.allowed == [5, nil, 60])
        claim.begin(day: 3, month: 2)
        #expect(claim.allowed == [12, nil, 375])
        claim.lose(members: 0)
        #expect(claim.allowed == [50, nil, 1_500])
        claim.begin(day: 4, month: 2)
        #expect(claim.allowed == [50, nil, 1_500])
    }

    @Test(arguments: [1, 4, 20])
    func `on a new day, machines may call before Redis replies, but stay within the budget`(
        count: Int
    ) {
        var engine = Engine()
        let limit: UInt64 = 1_000
        var machines = (0..<count).map { Machine($0, limit: limit) }
        for index in machines.indices { machines[index].ask(&engine, limit: limit, members: count) }
        engine = Engine()
        let advance = limit / UInt64(4 * count)
        for index in machines.indices {
            machines[index].claim.begin(day: 2, month: 1)
            while machines[index].call() {}
            #expect(machines[index].used == advance)
            #expect(machines[index].claim.left(machines[index].use) == [limit - advance, nil, nil])
        }
        for _ in 0..<100 {
            for index in machines.indices {
                machines[index].ask(&engine, limit: limit, members: count)
                while machines[index].call() {}
            }
        }
        #expect(machines.reduce(0) { $0 + $1.used } == limit)
    }

    @Test(arguments: [Int.min, -1, 0, .max])
    func `an implausible number of machines is replaced by a valid number`(members: Int) {
        var claim = BudgetClaim([1_000, nil, nil], day: 1, month: 1, members: members)
        claim.take([(10, 10), nil, nil], members: members, isSettled: true)
        #expect((1...FleetLimits.mostMembers).contains(claim.members))
        #expect(claim.isShort([10, 0, 0], cost))
        claim.lose(members: members)
        #expect(claim.allowed[0] ?? 0 <= 1_000)
    }

    @Test
    func `the share depends on the latest known number of machines`() {
        var claim = BudgetClaim([1_000, nil, nil], day: 1, month: 1, members: 4)
        claim.take([(0, 0), nil, nil], members: 0, isSettled: true)
        claim.lose(members: 0)
        #expect(claim.allowed[0] == 250)
        claim.take([(0, 0), nil, nil], members: 1, isSettled: true)
        claim.lose(members: 10)
        #expect(claim.allowed[0] == 100)
    }

    @Test
    func `right after a connection, neither the machine count nor the claimed sum decreases`() {
        var claim = BudgetClaim([1_000, nil, nil], day: 1, month: 1, members: 1)
        claim.take([(250, 600), nil, nil], members: 4, isSettled: true)
        claim.lose(members: 4)
        claim.take([(250, 250), nil, nil], members: 1, isSettled: false)
        claim.lose(members: 1)
        #expect(claim.allowed[0] == 250 + 400 / 4)
        claim.take([(250, 300), nil, nil], members: 2, isSettled: true)
        claim.lose(members: 2)
        #expect(claim.allowed[0] == 250 + 700 / 2)
        claim.begin(day: 2, month: 1)
        #expect(claim.allowed[0] == 1_000 / 2)
    }

    @Test(arguments: [100, 1_000, .max] as [UInt64])
    func `if Redis refused all claims and is lost, a machine gets its equal part`(total: UInt64) {
        var claim = BudgetClaim([100, nil, nil], day: 1, month: 1, members: 3)
        claim.take([(0, total), nil, nil], members: 3, isSettled: true)
        #expect(claim.allowed[0] == 0)
        claim.lose(members: 0)
        #expect(claim.allowed[0] == 33)
        var restored = BudgetClaim([100, nil, nil], day: 1, month: 1, members: 3)
        restored.restore([(0, total), nil, nil])
        #expect(restored.allowed[0] == 33)
    }

    @Test(arguments: [33, 40, 100] as [UInt64])
    func `a machine that claimed its equal part gets no more if Redis is lost`(claimed: UInt64) {
        var claim = BudgetClaim([100, nil, nil], day: 1, month: 1, members: 3)
        claim.take([(claimed, 100), nil, nil], members: 3, isSettled: true)
        claim.lose(members: 3)
        #expect(claim.allowed[0] == claimed)
    }

    @Test
    @ServiceLoop
    func `a claim below the used amount is ignored, because the script never returns it`() {
        func claimed(_ claim: Int64, _ total: Int64, used: UInt64) -> UInt64? {
            FleetBudget.amounts(
                [.list([.integer(claim), .integer(total)])],
                [100, nil, nil],
                [0],
                [used, 0, 0]
            )?[0]?.claimed
        }
        #expect(claimed(0, 100, used: 0) == 0)
        #expect(claimed(20, 100, used: 20) == 20)
        #expect(claimed(19, 100, used: 20) == nil)
        #expect(claimed(0, 100, used: 20) == nil)
        #expect(claimed(-1, 100, used: 0) == nil)
        #expect(claimed(30, 29, used: 0) == nil)
        #expect(claimed(110, 130, used: 110) == 100)
    }

    @Test
    func `the advance of a claim gets smaller towards the end of the budget`() {
        var limit = BudgetClaim.Limit(most: 10_000)
        #expect(limit.block(20, cost: 1) == 100)
        limit.total = 9_000
        #expect(limit.block(20, cost: 1) == 12)
        limit.total = 12_000
        #expect(limit.block(20, cost: 1) == 1)
    }

    @Test
    func `the advance of a claim covers a burst of calls at first, and one call at the end`() {
        #expect(BudgetClaim.Limit(most: 1_000).block(1, cost: 1) == 64)
        #expect(BudgetClaim.Limit(most: 1_000).block(1, cost: 10) == 250)
        var limit = BudgetClaim.Limit(most: 400)
        limit.total = 390
        #expect(limit.block(20, cost: 10) == 10)
        var claim = BudgetClaim([400, nil, nil], day: 1, month: 1, members: 20)
        claim.take([(9, 300), nil, nil], members: 20, isSettled: true)
        #expect(claim.isShort([0, 0, 0], [10, 1, 1]))
        #expect(claim.wanted([0, 0, 0], [10, 1, 1])[0] == 10)
    }

    @Test
    func `the remaining budget includes the units that no machine has claimed`() {
        var claim = BudgetClaim([1_000, nil, nil], day: 1, month: 1, members: 4)
        claim.take([(64, 200), nil, nil], members: 4, isSettled: true)
        #expect(claim.left([60, 0, 0]) == [804, nil, nil])
        claim.lose(members: 4)
        #expect(claim.left([60, 0, 0]) == [204, nil, nil])
    }
}
