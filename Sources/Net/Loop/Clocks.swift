// SPDX-License-Identifier: Apache-2.0

/// Where time comes from, for those whose rules about time are tested with a clock that only moves
/// when the test says so.
package struct Clocks: Sendable {
    /// Waits until an instant of the monotonic clock.
    package typealias Sleeping =
        @Sendable @ServiceLoop (ContinuousClock.Instant) async throws(CancellationError) -> Void

    /// The clock of deadlines, lifetimes and durations.
    package var now: @Sendable () -> ContinuousClock.Instant

    /// Seconds since 1970, which may jump: for signatures.
    package var wallSeconds: @Sendable () -> Int64

    /// Waits by the clock of `now`.
    package var sleep: Sleeping

    /// Puts clocks together; `now` and `sleep` must be of one kind.
    package init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        wallSeconds: @escaping @Sendable () -> Int64,
        sleep: @escaping Sleeping = { (end) async throws(CancellationError) in
            try await ServiceLoop.sleep(until: end)
        }
    ) {
        self.now = now
        self.wallSeconds = wallSeconds
        self.sleep = sleep
    }

    /// The system's.
    package static let system = Clocks(now: { Clock.now }, wallSeconds: { Clock.wallSeconds })
}
