// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

/// Something to be done on the loop at an instant, unless cancelled before.
@ServiceLoop
final class LoopTimer: Cancellable {
    /// When it is due.
    let deadline: ContinuousClock.Instant

    /// What is done, once.
    fileprivate let action: @ServiceLoop () -> Void

    /// Its place in the heap, nil when it is not (or no longer) waiting.
    fileprivate var index: Int?

    /// Starts a timer that calls `action` at `deadline`, or in the next turn if that has passed.
    init(at deadline: ContinuousClock.Instant, _ action: @escaping @ServiceLoop () -> Void) {
        self.deadline = deadline
        self.action = action
        TimerQueue.shared.insert(self)
    }

    /// Makes what all timers share, while there are descriptors left.
    static func prepare() { _ = TimerQueue.shared }

    /// Forgets it; does nothing if it has fired already.
    func cancel() { TimerQueue.shared.remove(self) }
}

/// All timers of the loop: a binary heap behind one sd-event time source.
///
/// A deadline per miss means thousands of timers of which nearly all are cancelled, and each costs
/// a few swaps here instead of a source with three queues in sd-event.  The source is re-armed only
/// for a timer that is due earlier than what it is set to: with equal timeouts, once a timeout and
/// not once a timer.  A cancelled timer leaves it armed; it then fires for nothing and is re-armed.
// SAFETY: the one unsafe thing stored is the source, see there.
@safe
@ServiceLoop
private final class TimerQueue {
    static let shared = TimerQueue()

    /// Every element's `index` is its place; no element is due before its parent, `(i - 1) / 2`.
    private var heap: [LoopTimer] = []

    /// What the source is set to, nil while it is disarmed.
    private var armed: ContinuousClock.Instant?

    /// The one time source.
    // SAFETY: made once, used on the loop only, never freed.
    private let source: OpaquePointer

    private init() {
        var made: OpaquePointer?
        // SAFETY: out-parameter of the right type; the handler needs no data.  CLOCK_BOOTTIME, as
        // `Clock.now`; an accuracy of 1 us keeps sd-event from moving timers together (0 would
        // stand for a quarter of a second).
        let status = unsafe sd_event_add_time(
            LoopExecutor.shared.event,
            &made,
            CLOCK_BOOTTIME,
            UInt64.max,
            1,
            { _, _, _ in
                ServiceLoop.assumeIsolated { TimerQueue.shared.fire() }
                return 0
            },
            nil
        )
        guard status >= 0, let made = unsafe made else {
            preconditionFailure("no timer for the service loop: \(errorText(-status))")
        }
        unsafe source = made
    }

    /// Adds a timer.
    func insert(_ timer: LoopTimer) {
        timer.index = heap.count
        heap.append(timer)
        rise(heap.count - 1)
        arm()
    }

    /// Takes a timer out if it is in.
    func remove(_ timer: LoopTimer) {
        guard let index = timer.index else { return }
        timer.index = nil
        let last = heap.removeLast()
        guard index < heap.count else { return }
        place(last, at: index)
        rise(index)
        sink(index)
    }

    /// Calls what is due.
    ///
    /// At most as many as there were before, so timers that are set to the past by these calls
    /// wait for the next turn; those that are cancelled by them are not called.
    private func fire() {
        armed = nil
        let now = Clock.now
        for _ in 0..<heap.count {
            guard let first = heap.first, first.deadline <= now else { break }
            remove(first)
            first.action()
        }
        arm()
    }

    /// Sets the source to the earliest timer if it is not set to something earlier.
    private func arm() {
        guard let first = heap.first?.deadline else { return }
        if let armed, armed <= first { return }
        armed = first
        // SAFETY: the source is alive; sd-event disables it each time it has fired.
        let status = unsafe sd_event_source_set_time(source, Clock.bootMicroseconds(first))
        let enabled = unsafe sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
        precondition(status >= 0 && enabled >= 0, "cannot arm the timer of the service loop")
    }

    // MARK: - Heap

    /// Moves the timer at `start` up to its place.
    private func rise(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { return }
            exchange(child, parent)
            child = parent
        }
    }

    /// Moves the timer at `start` down to its place.
    private func sink(_ start: Int) {
        var parent = start
        while true {
            let left = 2 * parent + 1
            var least = parent
            for child in [left, left + 1] where child < heap.count {
                if heap[child].deadline < heap[least].deadline { least = child }
            }
            guard least != parent else { return }
            exchange(parent, least)
            parent = least
        }
    }

    /// Swaps two timers.
    private func exchange(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        heap[a].index = a
        heap[b].index = b
    }

    /// Puts `timer` at `index`.
    private func place(_ timer: LoopTimer, at index: Int) {
        heap[index] = timer
        timer.index = index
    }
}
