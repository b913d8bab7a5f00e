// SPDX-License-Identifier: Apache-2.0

extension ServiceLoop {
    /// Waits until `deadline`, or not at all if it has passed.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    @ServiceLoop
    package static func sleep(
        until deadline: ContinuousClock.Instant
    ) async throws(CancellationError) {
        guard await Waiter().wait(until: deadline) == .timedOut else { throw CancellationError() }
    }

    /// Runs `body` and cancels it at `deadline`, or when the calling task is cancelled.
    ///
    /// Waits for `body` to end in any case: what in this package waits ends at once when cancelled.
    ///
    /// - Throws: `DeadlinePassed` if `body` threw after it was cancelled for its deadline; else what
    ///   `body` throws.  A value that `body` returns all the same is returned.
    @ServiceLoop
    package static func withDeadline<Value: Sendable>(
        _ deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable @ServiceLoop () async throws -> Value
    ) async throws -> Value {
        let task = throwingTask { try await body() }
        var passed = false
        let timer = LoopTimer(at: deadline) {
            passed = true
            task.cancel()
        }
        defer { timer.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch {
            throw passed ? DeadlinePassed() : error
        }
    }
}

/// What ``ServiceLoop/withDeadline(_:_:)`` throws in place of the error of a body it cut short.
package struct DeadlinePassed: Error, Hashable {
    package init() {}
}
