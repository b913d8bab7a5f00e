// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Work under way by key, so that whoever wants the same meanwhile waits for it instead.
///
/// The first to ask for a key starts the work.  Everyone who asks before it ends gets its value, if
/// it comes in the time that he has; whoever asks after starts it anew.  The work runs on whether
/// anybody waits for it or not: to end in time is its own affair.
@ServiceLoop
final class InFlight<Key: Hashable & Sendable, Value: Sendable> {
    private let clocks: Clocks
    private var running: [Key: Job<Value>] = [:]

    init(_ clocks: Clocks) {
        self.clocks = clocks
    }

    /// How many keys are being worked on.
    var count: Int { running.count }

    /// Whether this key is being worked on.
    func contains(_ key: Key) -> Bool { running[key] != nil }

    /// The value of `work` for `key`, and whether it was already under way; nil at `deadline`.
    ///
    /// A deadline that has passed starts the work all the same.
    func join(
        _ key: Key,
        until deadline: ContinuousClock.Instant,
        _ work: @escaping @Sendable @ServiceLoop () async -> Value
    ) async -> (value: Value, wasMerged: Bool)? {
        let known = running[key]
        let job = known ?? start(key, work)
        guard deadline > clocks.now() else { return nil }
        return await job.wait(until: deadline).map { ($0, known != nil) }
    }

    private func start(
        _ key: Key,
        _ work: @escaping @Sendable @ServiceLoop () async -> Value
    ) -> Job<Value> {
        let job = Job<Value>(clocks)
        running[key] = job
        ServiceLoop.task { [self] in
            let value = await work()
            running[key] = nil
            job.end(with: value)
        }
        return job
    }
}

/// Those who wait for one value, each as long as he likes.
@ServiceLoop
private final class Job<Value: Sendable> {
    /// One who waits.
    private struct Waiter {
        let deadline: ContinuousClock.Instant
        let continuation: CheckedContinuation<Value?, Never>
    }

    private let clocks: Clocks
    private var waiters: [Waiter] = []
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    init(_ clocks: Clocks) {
        self.clocks = clocks
    }

    /// The value, or nil at `deadline`.
    func wait(until deadline: ContinuousClock.Instant) async -> Value? {
        await withCheckedContinuation { continuation in
            waiters.append(Waiter(deadline: deadline, continuation: continuation))
            alarm.bring(forward: deadline)
        }
    }

    /// Gives everybody the value.
    func end(with value: Value) {
        alarm.set(nil)
        for waiter in waiters { waiter.continuation.resume(returning: value) }
        waiters = []
    }

    /// Ends the waiting of those whose time is over.
    private func expire() {
        let now = clocks.now()
        for waiter in waiters where waiter.deadline <= now {
            waiter.continuation.resume(returning: nil)
        }
        waiters.removeAll { $0.deadline <= now }
        alarm.set(waiters.lazy.map(\.deadline).min())
    }
}
