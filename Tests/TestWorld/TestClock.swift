// SPDX-License-Identifier: Apache-2.0
package import Net

@ServiceLoop
package final class TestClock {
    package private(set) var now: Instant
    package var wallSeconds: Int64 = 1_700_000_000
    private var timers: [Timer] = []

    private var observer: CheckedContinuation<Void, Never>?

    private final class Timer: Cancellable {
        let end: Instant
        let action: @ServiceLoop () -> Void
        private unowned let hours: TestClock

        init(_ end: Instant, _ hours: TestClock, _ action: @escaping @ServiceLoop () -> Void) {
            self.end = end
            self.hours = hours
            self.action = action
        }

        func cancel() { hours.timers.removeAll { $0 === self } }
    }

    package nonisolated init() { now = Clock.now }

    package var clocks: Clocks {
        Clocks(
            now: { ServiceLoop.assumeIsolated { self.now } },
            wallSeconds: { ServiceLoop.assumeIsolated { self.wallSeconds } },
            timer: { end, action in
                let timer = Timer(end, self, action)
                self.timers.append(timer)
                self.observer?.resume()
                self.observer = nil
                return timer
            }
        )
    }

    package func rest() async {
        guard timers.isEmpty else { return }
        await withCheckedContinuation { observer = $0 }
    }

    package func advance(by seconds: Int64) {
        now += .seconds(seconds)
        wallSeconds += seconds
        let due = timers.filter { $0.end <= now }
        timers.removeAll { $0.end <= now }
        for timer in due { timer.action() }
    }
}
