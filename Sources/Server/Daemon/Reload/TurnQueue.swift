// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Lets something happen once at a time, however many ask for it.
///
/// Whoever asks while it happens is served by the next time, together with all others who do: it
/// may have missed what he wants it to see.  So there are two at most, one that runs and one that
/// waits.
@ServiceLoop
final class TurnQueue<Value: Sendable> {
    private var running: Task<Value, Never>?
    private var waiting: Task<Value, Never>?

    /// What `work` returns when it has been done once more, from its beginning on.
    func turn(_ work: @escaping @ServiceLoop () async -> Value) async -> Value {
        if let waiting { return await waiting.value }
        let before = running
        let task = ServiceLoop.task { [self] in
            _ = await before?.value
            running = waiting
            waiting = nil
            let value = await work()
            running = nil
            return value
        }
        waiting = task
        return await task.value
    }
}
