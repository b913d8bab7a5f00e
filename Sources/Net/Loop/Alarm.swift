// SPDX-License-Identifier: Apache-2.0

/// Calls something at an instant that can be moved.
///
/// Moving it later, which is what happens most, costs nothing: the timer that runs ends too early
/// and is set again.
@ServiceLoop
package final class Alarm {
    private let clocks: Clocks
    private let action: @ServiceLoop () -> Void

    /// When the action is wanted.
    private var wanted: ContinuousClock.Instant?

    /// The timer that runs, and when it ends.
    private var timer: (timer: any Cancellable, end: ContinuousClock.Instant)?

    /// Makes an alarm that is not set.
    package init(_ clocks: Clocks, _ action: @escaping @ServiceLoop () -> Void) {
        self.clocks = clocks
        self.action = action
    }

    /// Wants the action at `instant`, once; nil for never.
    package func set(_ instant: ContinuousClock.Instant?) {
        wanted = instant
        if let timer, let instant, timer.end <= instant { return }
        timer?.timer.cancel()
        timer = nil
        guard let instant else { return }
        // Held by the timer for as long as that runs: a weak reference would cost as much as all this.
        timer = (clocks.timer(instant) { [self] in rings() }, instant)
    }

    /// Wants the action at `instant` unless it is wanted sooner.
    package func bring(forward instant: ContinuousClock.Instant) {
        if let wanted, wanted <= instant { return }
        set(instant)
    }

    /// The timer has ended.
    private func rings() {
        timer = nil
        guard let wanted else { return }
        guard wanted <= clocks.now() else { return set(wanted) }
        self.wanted = nil
        action()
    }
}
