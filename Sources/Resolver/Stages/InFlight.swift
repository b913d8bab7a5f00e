// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Work under way by key, so that whoever wants the same meanwhile waits for it instead.
///
/// The first to ask for a key starts the work.  Everyone who asks before it ends is told its value, if
/// it comes in the time that he has; whoever asks after starts it anew.  The work runs on whether
/// anybody waits for it or not: to end in time is its own affair.
@ServiceLoop
final class InFlight<Key: Hashable & Sendable, Value: Sendable> {
    /// Told the value, and whether it was under way before; or nil at the deadline.
    typealias Tell = @ServiceLoop (_ value: Value?, _ wasMerged: Bool) -> Void

    /// One who waits.
    private struct Waiter {
        let deadline: ContinuousClock.Instant
        let wasMerged: Bool
        let tell: Tell
    }

    /// Work that has not ended.
    private struct Work {
        let began: ContinuousClock.Instant
        var waiters: [Waiter] = []
    }

    private let clocks: Clocks
    private var running: [Key: Work] = [:]

    /// Ends the waiting of those whose time is over.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    init(_ clocks: Clocks) {
        self.clocks = clocks
    }

    /// How many keys are being worked on.
    var count: Int { running.count }

    /// Since when this key is being worked on; nil if it is not.
    func began(_ key: Key) -> ContinuousClock.Instant? { running[key]?.began }

    /// Tells the value of `work` for `key`, once and perhaps before this returns.
    ///
    /// A deadline that has passed starts the work all the same.
    ///
    /// - Parameter work: calls what it is given with the value, once.
    func join(
        _ key: Key,
        now: ContinuousClock.Instant,
        until deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell,
        _ work: (_ end: @escaping @ServiceLoop (Value) -> Void) -> Void
    ) {
        let waits = deadline > now
        let wasRunning = running[key] != nil
        if !wasRunning { running[key] = Work(began: now) }
        if waits {
            let waiter = Waiter(deadline: deadline, wasMerged: wasRunning, tell: tell)
            running[key]?.waiters.append(waiter)
            alarm.bring(forward: deadline)
        }
        if !wasRunning {
            work { [self] value in
                for waiter in running.removeValue(forKey: key)?.waiters ?? [] {
                    waiter.tell(value, waiter.wasMerged)
                }
            }
        }
        if !waits { tell(nil, wasRunning) }
    }

    /// Ends the waiting of those whose time is over.
    private func expire() {
        let now = clocks.now()
        var late: [Waiter] = []
        var next: ContinuousClock.Instant?
        for (key, work) in running {
            if work.waiters.contains(where: { $0.deadline <= now }) {
                late += work.waiters.filter { $0.deadline <= now }
                running[key]?.waiters.removeAll { $0.deadline <= now }
            }
            for waiter in work.waiters where waiter.deadline > now {
                next = min(next ?? waiter.deadline, waiter.deadline)
            }
        }
        // Not for each of many that came in a row.
        alarm.set(next.map { max($0, now + ResolverLimits.grain) })
        for waiter in late { waiter.tell(nil, waiter.wasMerged) }
    }
}
