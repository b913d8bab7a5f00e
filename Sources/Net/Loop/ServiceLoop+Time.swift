// SPDX-License-Identifier: Apache-2.0

extension ServiceLoop {
    /// Suspends until `deadline`; throws when the task is cancelled.
    @ServiceLoop
    package static func sleep(
        until deadline: Instant
    ) async throws(CancellationError) {
        guard await Waiter().wait(until: deadline) == .timedOut else { throw CancellationError() }
    }
}
