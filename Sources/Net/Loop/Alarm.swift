// SPDX-License-Identifier: Apache-2.0

/// Calls something at an instant that can be moved.
///
/// Moving it later, which is what happens most, costs nothing: the sleep that is under way ends
/// too early and begins again.
@ServiceLoop
package final class Alarm {
    private let clocks: Clocks
    private let action: @ServiceLoop () -> Void

    /// When the action is wanted.
    private var wanted: ContinuousClock.Instant?

    /// The sleep under way, and when it ends; its number tells it from those that were cancelled.
    private var sleep: (task: Task<Void, Never>, end: ContinuousClock.Instant)?
    private var number: UInt64 = 0

    /// Makes an alarm that is not set.
    package init(_ clocks: Clocks, _ action: @escaping @ServiceLoop () -> Void) {
        self.clocks = clocks
        self.action = action
    }

    /// Wants the action at `instant`, once; nil for never.
    package func set(_ instant: ContinuousClock.Instant?) {
        wanted = instant
        guard let instant else {
            stop()
            return
        }
        if let sleep, sleep.end <= instant { return }
        stop()
        let number = number
        let end = instant
        let task = ServiceLoop.task { [clocks, weak self] in
            do {
                try await clocks.sleep(end)
            } catch {
                return
            }
            self?.slept(number)
        }
        sleep = (task, end)
    }

    /// Wants the action at `instant` unless it is wanted sooner.
    package func bring(forward instant: ContinuousClock.Instant) {
        if let wanted, wanted <= instant { return }
        set(instant)
    }

    /// Ends the sleep under way.
    private func stop() {
        sleep?.task.cancel()
        sleep = nil
        number += 1
    }

    /// A sleep has ended.
    private func slept(_ number: UInt64) {
        guard number == self.number else { return }
        sleep = nil
        guard let wanted else { return }
        guard wanted <= clocks.now() else {
            set(wanted)
            return
        }
        self.wanted = nil
        action()
    }
}
