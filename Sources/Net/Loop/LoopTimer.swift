// SPDX-License-Identifier: Apache-2.0
private import CSystemd
private import Glibc

@ServiceLoop
final class LoopTimer: Cancellable {
    let deadline: Instant

    fileprivate let action: @ServiceLoop () -> Void

    fileprivate var index: Int?

    /// Schedules `action` at `deadline`, or in the next iteration if `deadline` has passed.
    init(at deadline: Instant, _ action: @escaping @ServiceLoop () -> Void) {
        self.deadline = deadline
        self.action = action
        TimerQueue.shared.insert(self)
    }

    /// Creates the timer queue early, while descriptors are available.
    static func prepare() { _ = TimerQueue.shared }

    func cancel() { TimerQueue.shared.remove(self) }
}

/// All timers of the service loop: a binary heap on one sd-event source.
///
/// Only an earlier timer re-arms the source, so the source may fire early after a cancellation.
// SAFETY: see `source`.
@safe
@ServiceLoop
private final class TimerQueue {
    static let shared = TimerQueue()

    /// Min-heap by deadline; `index` of each timer is its position.
    private var heap: [LoopTimer] = []

    private var armed: Instant?

    private static let lateness: Duration = .milliseconds(1)

    private enum Phase {
        case idle

        /// The ready sources run first, then the timers that were due at the instant.
        case sources(Instant)

        case jobs
    }

    private var phase = Phase.idle

    // SAFETY: made once, used on the loop only, never freed.
    private let source: OpaquePointer

    private init() {
        var made: OpaquePointer?
        // SAFETY: the handler needs no data. The accuracy of 1 µs prevents coalescing by sd-event;
        // 0 would mean 250 ms.
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

    func insert(_ timer: LoopTimer) {
        timer.index = heap.count
        heap.append(timer)
        rise(heap.count - 1)
        arm()
    }

    func remove(_ timer: LoopTimer) {
        guard let index = timer.index else { return }
        timer.index = nil
        let last = heap.removeLast()
        guard index < heap.count else { return }
        place(last, at: index)
        rise(index)
        sink(index)
    }

    /// Runs the due timers.
    ///
    /// If the loop is late, the ready sources and their tasks run first. Otherwise a server would
    /// be marked as slow although its reply waits unread in a socket.
    private func fire() {
        armed = nil
        switch phase {
        case .idle:
            let now = Clock.now
            guard let first = heap.first?.deadline, first <= now else { return arm() }
            guard now - first >= Self.lateness else { return run(dueBy: now) }
            phase = .sources(now)
            arm()
        case .sources(let due):
            phase = .jobs
            ServiceLoop.task { self.run(dueBy: due) }
        case .jobs: break
        }
    }

    /// Runs the timers that were due at `due`, but at most as many as are pending now.
    ///
    /// Otherwise actions that set timers in the past could block the loop.
    private func run(dueBy due: Instant) {
        phase = .idle
        for _ in 0..<heap.count {
            guard let first = heap.first, first.deadline <= due else { break }
            remove(first)
            first.action()
        }
        arm()
    }

    private func arm() {
        guard let first = heap.first?.deadline else { return }
        if let armed, armed <= first { return }
        armed = first
        LoopExecutor.shared.noteTimer()
        // SAFETY: the source is alive. sd-event disables the source when it fires.
        let status = unsafe sd_event_source_set_time(source, Clock.bootMicroseconds(first))
        let enabled = unsafe sd_event_source_set_enabled(source, Int32(SD_EVENT_ONESHOT))
        precondition(status >= 0 && enabled >= 0, "cannot arm the timer of the service loop")
    }

    // MARK: - Heap

    private func rise(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].deadline < heap[parent].deadline else { return }
            exchange(child, parent)
            child = parent
        }
    }

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

    private func exchange(_ a: Int, _ b: Int) {
        heap.swapAt(a, b)
        heap[a].index = a
        heap[b].index = b
    }

    private func place(_ timer: LoopTimer, at index: Int) {
        heap[index] = timer
        timer.index = index
    }
}
