// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Queue that runs operations one at a time, in the order of the calls.
@ServiceLoop
final class SerialQueue {
    private var last: Task<Void, Never>?

    func turn<Value: Sendable>(_ work: @escaping @ServiceLoop () async -> Value) async -> Value {
        await add(work).value
    }

    @discardableResult
    func add<Value: Sendable>(
        _ work: @escaping @ServiceLoop () async -> Value
    ) -> Task<Value, Never> {
        let before = last
        let task = ServiceLoop.task {
            await before?.value
            return await work()
        }
        last = ServiceLoop.task { _ = await task.value }
        return task
    }
}
