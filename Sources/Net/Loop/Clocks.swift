// SPDX-License-Identifier: Apache-2.0

/// Where time comes from, for those whose rules about time are tested with a clock that only moves
/// when the test says so.
package struct Clocks: Sendable {
    /// Has something called in the loop at an instant, unless the timer is cancelled before.
    package typealias Timing =
        @Sendable @ServiceLoop (ContinuousClock.Instant, @escaping @ServiceLoop () -> Void) ->
        any Cancellable

    /// The clock of deadlines, lifetimes and durations.
    package var now: @Sendable () -> ContinuousClock.Instant

    /// Seconds since 1970, which may jump: for signatures.
    package var wallSeconds: @Sendable () -> Int64

    /// Sets timers by the clock of `now`.
    package var timer: Timing

    /// Puts clocks together; `now` and `timer` must be of one kind.
    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        wallSeconds: @escaping @Sendable () -> Int64,
        timer: @escaping Timing
    ) {
        self.now = now
        self.wallSeconds = wallSeconds
        self.timer = timer
    }

    /// The system's.
    package static let system = Clocks(
        now: { Clock.now },
        wallSeconds: { Clock.wallSeconds },
        timer: { LoopTimer(at: $0, $1) }
    )
}

extension Clocks {
    /// Waits until `end`.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    @ServiceLoop
    package func sleep(_ end: ContinuousClock.Instant) async throws(CancellationError) {
        let waiter = Waiter()
        let timer = timer(end) { waiter.resume(.timedOut) }
        defer { timer.cancel() }
        guard await waiter.wait(until: nil) == .timedOut else { throw CancellationError() }
    }
}

/// Something to come that can be called off.
@ServiceLoop
package protocol Cancellable: AnyObject {
    /// Calls it off; does nothing if it has come already.
    func cancel()
}
