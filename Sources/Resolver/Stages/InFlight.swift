// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Work under way by key, so that whoever wants the same meanwhile waits for it instead.
///
/// The first to ask for a key starts the work; it runs on when that one no longer waits.  Everyone
/// who asks before it ends gets its value; whoever asks after starts it anew.
@ServiceLoop
final class InFlight<Key: Hashable & Sendable, Value: Sendable> {
    private var running: [Key: Task<Value, Never>] = [:]

    /// How many keys are being worked on.
    var count: Int { running.count }

    /// The value of `work` for `key`, and whether it was already under way.
    func value(
        for key: Key,
        _ work: @escaping @Sendable @ServiceLoop () async -> Value
    ) async -> (value: Value, wasMerged: Bool) {
        if let task = running[key] { return (await task.value, true) }
        let task = ServiceLoop.task { [self] in
            let value = await work()
            running[key] = nil
            return value
        }
        running[key] = task
        return (await task.value, false)
    }
}
