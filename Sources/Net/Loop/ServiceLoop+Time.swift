// SPDX-License-Identifier: Apache-2.0

extension ServiceLoop {
    @ServiceLoop
    package static func sleep(
        until deadline: Instant
    ) async throws(CancellationError) {
        guard await Waiter().wait(until: deadline) == .timedOut else { throw CancellationError() }
    }
}
