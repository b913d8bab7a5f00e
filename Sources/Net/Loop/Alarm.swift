// SPDX-License-Identifier: Apache-2.0

/// Timer with a changeable instant; a later instant needs no new ``LoopTimer``.
@ServiceLoop
package final class Alarm {
    private let clocks: Clocks

    package var action: @ServiceLoop () -> Void

    private var wanted: Instant?

    private var timer: (timer: any Cancellable, end: Instant)?

    package init(_ clocks: Clocks, _ action: @escaping @ServiceLoop () -> Void = {}) {
        self.clocks = clocks
        self.action = action
    }

    /// Runs the action once at `instant`; nil cancels the alarm.
    package func set(_ instant: Instant?) {
        wanted = instant
        if let timer, let instant, timer.end <= instant { return }
        timer?.timer.cancel()
        timer = nil
        guard let instant else { return }
        // A weak reference would double the cost of `set`.
        timer = (clocks.timer(instant) { [self] in rings() }, instant)
    }

    /// Cancels the action, but not the timer, which a later ``set(_:)`` can use.
    package func suspend() { wanted = nil }

    /// Moves the alarm to `instant`, unless it is set to an earlier instant.
    package func bring(forward instant: Instant) {
        if let wanted, wanted <= instant { return }
        set(instant)
    }

    private func rings() {
        timer = nil
        guard let wanted else { return }
        guard wanted <= clocks.now() else { return set(wanted) }
        self.wanted = nil
        action()
    }
}
