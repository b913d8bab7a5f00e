// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Placeholder for the request of a transfer that waits for a connection.
@ServiceLoop
final class WaitingRequest: RequestHandle {
    let wasSent = false

    private var timer: (any Cancellable)?
    private var failed: (@ServiceLoop (UpstreamError) -> Void)?

    /// - Parameter failed: called once, at the deadline or when the request is cancelled.
    init(
        until deadline: Instant,
        _ clocks: Clocks,
        failed: @escaping @ServiceLoop (UpstreamError) -> Void
    ) {
        self.failed = failed
        timer = clocks.timer(deadline) { [self] in fail(.crowded) }
    }

    var isOver: Bool { failed == nil }

    func cancel() { fail(UpstreamError(HTTPError.cancelled)) }

    func end() {
        timer?.cancel()
        (timer, failed) = (nil, nil)
    }

    private func fail(_ error: UpstreamError) {
        guard let failed else { return }
        end()
        failed(error)
    }
}
