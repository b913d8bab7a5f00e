// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Net

@Suite("Resuming from sleep")
struct ResumeTests {
    @ServiceLoop
    private final class Machine {
        var asleep = Duration.seconds(86_400)
        var told: [Duration] = []
        private(set) var watch: ResumeWatch?

        init() throws {
            watch = try ResumeWatch(
                timeAsleep: { [unowned self] in ServiceLoop.assumeIsolated { asleep } }
            ) { [unowned self] in told.append($0) }
        }
    }

    @ServiceLoop
    @Test
    func `each sleep is reported once, with its duration`() throws {
        let machine = try Machine()
        machine.asleep += .seconds(3600)
        machine.watch?.look()
        machine.watch?.look()
        machine.asleep += .seconds(60)
        machine.watch?.look()
        #expect(machine.told == [.seconds(3600), .seconds(60)])
    }

    @ServiceLoop
    @Test
    func `a change of the wall clock is no sleep, and short sleeps are not added up`() throws {
        let machine = try Machine()
        machine.watch?.look()
        for _ in 0..<10 {
            machine.asleep += .seconds(4)
            machine.watch?.look()
        }
        #expect(machine.told == [])
        machine.asleep += ResumeWatch.shortestSleep
        machine.watch?.look()
        #expect(machine.told == [ResumeWatch.shortestSleep])
    }

    @Test
    func `the boot clock and the monotonic clock run equally while the machine is awake`() {
        let first = Clock.timeAsleep
        let second = Clock.timeAsleep
        #expect(first >= .zero - .milliseconds(1))
        #expect(second - first < .seconds(1) && first - second < .seconds(1))
    }
}
