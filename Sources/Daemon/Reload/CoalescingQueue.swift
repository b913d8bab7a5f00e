// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Queue that runs one operation at a time; requests during a run share the next run.
@ServiceLoop
final class CoalescingQueue<Value: Sendable> {
    private var running: Task<Value, Never>?
    private var waiting: Task<Value, Never>?

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
