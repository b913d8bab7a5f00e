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

    private let clocks: Clocks
    private var running: [Key: [Waiter]] = [:]

    /// Ends the waiting of those whose time is over.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    init(_ clocks: Clocks) {
        self.clocks = clocks
    }

    /// How many keys are being worked on.
    var count: Int { running.count }

    /// Whether this key is being worked on.
    func contains(_ key: Key) -> Bool { running[key] != nil }

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
        let wasRunning = Self.add(waits ? tell : nil, until: deadline, to: &running[key])
        if waits { alarm.bring(forward: deadline) }
        if !wasRunning {
            work { [self] value in
                for waiter in running.removeValue(forKey: key) ?? [] {
                    waiter.tell(value, waiter.wasMerged)
                }
            }
        }
        if !waits { tell(nil, wasRunning) }
    }

    /// Adds one who waits, if he does, and tells whether there is such work already.
    private static func add(
        _ tell: Tell?,
        until deadline: ContinuousClock.Instant,
        to waiters: inout [Waiter]?
    ) -> Bool {
        let wasRunning = waiters != nil
        if !wasRunning { waiters = [] }
        if let tell {
            waiters?.append(Waiter(deadline: deadline, wasMerged: wasRunning, tell: tell))
        }
        return wasRunning
    }

    /// Ends the waiting of those whose time is over.
    private func expire() {
        let now = clocks.now()
        var late: [Waiter] = []
        var next: ContinuousClock.Instant?
        for (key, waiters) in running {
            if waiters.contains(where: { $0.deadline <= now }) {
                late += waiters.filter { $0.deadline <= now }
                running[key]?.removeAll { $0.deadline <= now }
            }
            for waiter in waiters where waiter.deadline > now {
                next = min(next ?? waiter.deadline, waiter.deadline)
            }
        }
        // Not for each of many that came in a row.
        alarm.set(next.map { max($0, now + ResolverLimits.grain) })
        for waiter in late { waiter.tell(nil, waiter.wasMerged) }
    }
}
