// SPDX-License-Identifier: Apache-2.0
package import Net

extension HTTPTransport {
    /// Sends a request and waits for the reply; if the task is cancelled, cancels the request.
    @ServiceLoop
    package func send(
        _ request: HTTPRequest,
        deadline: Instant
    ) async throws(HTTPError) -> HTTPReply {
        let waiter = Waiter()
        var result: Result<HTTPReply, HTTPError>?
        let sent = send(request, deadline: deadline) {
            result = $0
            waiter.resume(.ready)
        }
        if await waiter.wait(until: nil) == .cancelled { sent.cancel() }
        guard let result else { preconditionFailure("a request ended without a result") }
        return try result.get()
    }
}
