// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Net

@Suite("Budget of the loop's time for one provider (a vendor or an upstream)")
struct LoopBudgetTests {
    private let start = Instant(nanoseconds: 0)

    private func budget(charged time: Duration, ended: Int = 0) -> LoopBudget {
        var budget = LoopBudget(at: start)
        budget.charge(time, octets: 0, inFlight: 0, ended: ended, at: start)
        return budget
    }

    @Test
    func `after many calls without a reply, new calls wait until the count decreases by a tenth`() {
        var budget = budget(charged: .milliseconds(49))
        #expect(!budget.isThrottled)
        budget.charge(.milliseconds(1), octets: 0, inFlight: 0, ended: 0, at: start)
        #expect(budget.isThrottled && !budget.isExhausted)
        #expect(budget.resumption == start + .milliseconds(50))
        budget.update(to: start + .milliseconds(49))
        #expect(budget.isThrottled)
        budget.update(to: start + .milliseconds(50))
        #expect(!budget.isThrottled)
    }

    @Test
    func `a throttled provider uses a tenth of the loop's time, however long its calls are`() {
        for milliseconds in [2, 49] {
            var budget = LoopBudget(at: start)
            var used: Duration = .zero
            var now = start
            while now < start + .seconds(100) {
                let time: Duration = .milliseconds(milliseconds)
                budget.charge(time, octets: 0, inFlight: 0, ended: 0, at: now)
                used += time
                if budget.isThrottled { now = budget.resumption }
            }
            #expect(used < .milliseconds(10_200))
        }
    }

    @Test
    func `one call that overflows the bucket exhausts the budget until the bucket is half empty`() {
        var budget = budget(charged: .milliseconds(51))
        #expect(budget.isThrottled && budget.isExhausted)
        budget.update(to: start + .milliseconds(259))
        #expect(!budget.isThrottled && budget.isExhausted)
        budget.update(to: start + .milliseconds(260))
        #expect(!budget.isExhausted)
    }

    @Test
    func `messages after the TLS handshake have a fixed cost, however many requests are in flight`()
    {
        for inFlight in [0, 256] {
            var budget = LoopBudget(at: start)
            let fits = Int(LoopBudget.capacity / .nanoseconds(1)) / LoopBudget.perMessage
            for number in 0..<2 * fits {
                #expect(budget.isThrottled == (number >= fits), "\(number)")
                budget.charge(
                    .nanoseconds(1),
                    octets: 0,
                    inFlight: inFlight,
                    ended: 0,
                    messages: 1,
                    at: start
                )
            }
        }
    }

    @Test
    func `a stopped call exhausts the budget for at least 250 ms`() {
        var budget = LoopBudget(at: start)
        budget.charge(
            .milliseconds(1),
            octets: 1 << 20,
            inFlight: 256,
            ended: 1,
            isStopped: true,
            at: start
        )
        budget.update(to: start + .milliseconds(249))
        #expect(budget.isExhausted)
        budget.update(to: start + .milliseconds(250))
        #expect(!budget.isExhausted)
    }

    @Test
    func `repeated failed handshakes throttle the provider to a tenth of the loop's time`() {
        var budget = LoopBudget(at: start)
        var used: Duration = .zero
        var now = start
        while now < start + .seconds(100) {
            budget.chargeFailedHandshake(.milliseconds(60), at: now)
            used += .milliseconds(60)
            #expect(!budget.isExhausted)
            if budget.isThrottled { now = budget.resumption }
        }
        #expect(used < .milliseconds(10_200))
    }

    @Test
    func `failed transfers neither lower the level nor are charged for the usual CPU time`() {
        var budget = LoopBudget(at: start)
        for time: Duration in [.milliseconds(1), .milliseconds(100)] {
            budget.charge(time, octets: 0, inFlight: 0, ended: 0, failed: 50, at: start)
            #expect(budget.level == .zero)
        }
        budget.charge(.milliseconds(101), octets: 0, inFlight: 0, ended: 0, failed: 50, at: start)
        #expect(budget.level == .milliseconds(1))
    }

    @Test
    func `a connection without a reply is charged once, with the mean time of the handshakes`() {
        let meter = LoopMeter()
        meter.begin(reads: false, inFlight: 2)
        let begin = Clock.threadTime
        meter.noteHandshake(isLast: true)
        meter.noteHandshake(isLast: true)
        while Clock.threadTime - begin < .milliseconds(20) {}
        #expect(meter.end() == .zero)
        meter.takeHandshake(isCharged: false)
        #expect(meter.budget.level == .zero)
        meter.takeHandshake(isCharged: true)
        let charged = meter.budget.level
        #expect(charged >= .milliseconds(10))
        meter.takeHandshake(isCharged: true)
        #expect(meter.budget.level <= charged + .milliseconds(2))
    }

    @Test
    func `connections without a reply throttle the provider to 50 a second`() {
        var budget = LoopBudget(at: start)
        var (count, now) = (0, start)
        while now < start + .seconds(100) {
            budget.chargeUnanswered(.milliseconds(1), at: now)
            count += 1
            if budget.isThrottled { now = budget.resumption }
        }
        #expect((5_000...5_100).contains(count))
    }

    @Test
    func `a server that replies on half of its connections is not throttled`() {
        var budget = LoopBudget(at: start)
        for _ in 0..<10_000 {
            budget.chargeUnanswered(.milliseconds(1), at: start)
            budget.charge(.zero, octets: 0, inFlight: 0, ended: 1, at: start)
            #expect(!budget.isThrottled)
        }
    }

    @Test
    func `a provider may always use a tenth of the loop's time`() {
        var budget = LoopBudget(at: start)
        for second in 1...1000 {
            let now = start + .seconds(second) / 10
            budget.charge(.milliseconds(10), octets: 0, inFlight: 0, ended: 0, at: now)
            #expect(!budget.isThrottled)
        }
    }

    @Test(arguments: [
        (64 << 10, 0, 0, 6000), (0, 100, 0, 200_000), (200, 1, 0, 2000), (0, 0, 256, 256),
    ])
    func `received octets and transfers increase the allowed time`(
        octets: Int,
        ended: Int,
        inFlight: Int,
        microseconds: Int
    ) {
        var budget = LoopBudget(at: start)
        for _ in 0..<1000 {
            budget.charge(
                .microseconds(microseconds),
                octets: octets,
                inFlight: inFlight,
                ended: ended,
                at: start
            )
        }
        #expect(!budget.isThrottled)
    }

    @Test
    func `replies extend the allowed time in advance, up to the capacity of the bucket`() {
        var budget = budget(charged: .milliseconds(1), ended: 1000)
        budget.charge(.milliseconds(99), octets: 0, inFlight: 0, ended: 0, at: start + .seconds(1))
        #expect(!budget.isThrottled)
        budget.charge(.milliseconds(1), octets: 0, inFlight: 0, ended: 0, at: start + .seconds(1))
        #expect(budget.isThrottled)
    }

    @Test
    func `one call may use the capacity plus the time for its octets and transfers in flight`() {
        var budget = LoopBudget(at: start)
        #expect(!budget.overflows(.milliseconds(50), octets: 0, inFlight: 0))
        #expect(budget.overflows(.milliseconds(51), octets: 0, inFlight: 0))
        #expect(!budget.overflows(.milliseconds(51), octets: 10_000, inFlight: 0))
        #expect(!budget.overflows(.milliseconds(51), octets: 0, inFlight: 1000))
        budget.charge(.milliseconds(40), octets: 0, inFlight: 0, ended: 0, at: start)
        #expect(!budget.overflows(.milliseconds(50), octets: 0, inFlight: 0))
    }

    @Test
    func `a provider may use half of the free reply memory, so that others find free memory`() {
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
