// SPDX-License-Identifier: Apache-2.0

extension ServiceLoop {
    /// Suspends the task until `deadline`; returns immediately if `deadline` has passed.
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
    /// Always waits for `body` to end, so `body` must end promptly when cancelled. A value that
    /// `body` returns after the deadline is still returned.
    ///
    /// - Throws: `DeadlinePassed` if `body` threw after its deadline; otherwise the error of
    ///   `body`.
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

/// Replaces the error of a body that ``ServiceLoop/withDeadline(_:_:)`` has cancelled.
package struct DeadlinePassed: Error, Hashable {
    package init() {}
}
