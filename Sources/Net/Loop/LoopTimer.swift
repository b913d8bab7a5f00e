// SPDX-License-Identifier: Apache-2.0
private import CLinux
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

/// All timers of the service loop: a binary heap on one timerfd.
///
/// The timerfd can expire although no timer is due, because a cancellation does not set it again.
@ServiceLoop
private final class TimerQueue {
    static let shared = TimerQueue()

    private var heap: [LoopTimer] = []

    private var armed: Instant?

    private static let lateness: Duration = .milliseconds(1)

    private enum Phase {
        case idle

        /// The loop handles ready descriptors; then the timers that were due at this instant run.
        case sources(Instant)

        case jobs
    }

    private var phase = Phase.idle

    private let timer: Int32

    /// Eventfd that the queue signals when timers are due.
    ///
    /// epoll reports the eventfd after all descriptors that became ready before the signal. The
    /// timerfd cannot replace it, because a virtual machine can delay the interrupt of the timerfd.
    private let turn: Int32
    private var watches: [DescriptorWatch] = []

    private init() {
        timer = linux_timerfd()
        turn = linux_eventfd()
        precondition(
            timer >= 0 && turn >= 0,
            "cannot create a timer for the service loop: \(errorText(errno))"
        )
        do throws(SocketError) {
            // The watches are edge-triggered, so the two descriptors are never read.
            let expiry = try DescriptorWatch(timer, [.readable, .edges]) { _ in
                TimerQueue.shared.expired()
            }
            let ready = try DescriptorWatch(turn, [.readable, .edges]) { _ in
                TimerQueue.shared.handledSources()
            }
            watches = [expiry, ready]
        } catch {
            preconditionFailure("no timer for the service loop: \(error)")
        }
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

    private func expired() {
        armed = nil
        guard case .idle = phase, let first = heap.first?.deadline else { return }
        let now = Clock.now
        if first <= now, now - first < Self.lateness { run(dueBy: now) } else { arm() }
    }

    /// Runs the due timers; if the loop is late, first runs the tasks of the ready descriptors.
    ///
    /// A server must not be marked as slow while its reply waits in a socket.
    private func handledSources() {
        guard case .sources(let due) = phase else { return }
        if let first = heap.first?.deadline, Clock.now - first < Self.lateness {
            return run(dueBy: due)
        }
        phase = .jobs
        ServiceLoop.task { self.run(dueBy: due) }
    }

    /// Runs the due timers, but at most as many as are pending at the start.
    ///
    /// An action can set a timer that is due at once. Such timers must not block the loop.
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
        guard case .idle = phase, let first = heap.first?.deadline else { return }
        if let armed, armed <= first { return }
        let now = Clock.now
        let status: Int32
        if first <= now {
            phase = .sources(now)
            status = linux_eventfd_signal(turn)
        } else {
            armed = first
            status = linux_timerfd_set(timer, Clock.bootMicroseconds(first))
        }
        precondition(status == 0, "cannot arm the timer of the service loop: \(errorText(errno))")
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
