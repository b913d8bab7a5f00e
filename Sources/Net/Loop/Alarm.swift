// SPDX-License-Identifier: Apache-2.0

/// Timer that can be moved.
///
/// Moving it later, the most frequent case, sets no new timer: the running timer ends at the old
/// instant and is then set again.
@ServiceLoop
package final class Alarm {
    private let clocks: Clocks
    private let action: @ServiceLoop () -> Void

    private var wanted: Instant?

    /// Running timer and the instant at which it ends.
    private var timer: (timer: any Cancellable, end: Instant)?

    package init(_ clocks: Clocks, _ action: @escaping @ServiceLoop () -> Void) {
        self.clocks = clocks
        self.action = action
    }

    /// Sets the instant at which the action runs once; nil cancels the alarm.
    package func set(_ instant: Instant?) {
        wanted = instant
        if let timer, let instant, timer.end <= instant { return }
        timer?.timer.cancel()
        timer = nil
        guard let instant else { return }
        // The running timer retains the alarm; a weak reference would double the cost of `set`.
        timer = (clocks.timer(instant) { [self] in rings() }, instant)
    }

    /// Moves the alarm to `instant` unless it is already set to an earlier instant.
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
