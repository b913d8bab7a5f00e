// SPDX-License-Identifier: Apache-2.0

/// Clock and timers, which tests replace by virtual time.
package struct Clocks: Sendable {
    package typealias Timing =
        @Sendable @ServiceLoop (Instant, @escaping @ServiceLoop () -> Void) ->
        any Cancellable

    package var now: @Sendable () -> Instant

    /// Wall clock in seconds since 1970, which may jump.
    package var wallSeconds: @Sendable () -> Int64

    package var timer: Timing

    /// `now` and `timer` must use the same clock.
    package init(
        now: @escaping @Sendable () -> Instant,
        wallSeconds: @escaping @Sendable () -> Int64,
        timer: @escaping Timing
    ) {
        self.now = now
        self.wallSeconds = wallSeconds
        self.timer = timer
    }

    package static let system = Clocks(
        now: { Clock.now },
        wallSeconds: { Clock.wallSeconds },
        timer: { LoopTimer(at: $0, $1) }
    )
}

extension Clocks {
    /// Suspends until `end`; throws when the task is cancelled.
    @ServiceLoop
    package func sleep(_ end: Instant) async throws(CancellationError) {
        guard await Waiter().wait(until: end, self) == .timedOut else { throw CancellationError() }
    }
}

@ServiceLoop
package protocol Cancellable: AnyObject {
    func cancel()
}
