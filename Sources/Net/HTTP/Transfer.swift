// SPDX-License-Identifier: Apache-2.0

@ServiceLoop
final class Transfer: RequestHandle {
    let started = Clock.now

    let deadline: Instant

    var handle: EasyHandle?

    var handles: EasyHandles?

    var connectionsOpened = 0

    var wasSent = false

    var sentAt: Instant? { handle?.received.sent }

    let request: HTTPRequest

    /// Strong, so that a replaced pool lives until its last request has ended.
    private var pool: ConnectionPool?

    /// Local port of the connection; 0 while the request is in flight.
    var port: UInt16 = 0

    var index: Int?

    private(set) var turn = 0

    private(set) var isSecond = false

    private let client: HTTPClient

    private var completion: HTTPTransport.Handler?

    init(
        _ request: consuming HTTPRequest,
        of client: HTTPClient,
        until deadline: Instant,
        _ completion: @escaping HTTPTransport.Handler
    ) {
        self.client = client
        self.deadline = deadline
        self.request = request
        self.completion = completion
    }

    func prepare(from handles: EasyHandles) throws(HTTPError) -> EasyHandle {
        self.handles = handles
        return try prepare(try handles.take(for: request))
    }

    func prepare(_ handle: EasyHandle) throws(HTTPError) -> EasyHandle {
        self.handle = handle
        try handle.prepare(request)
        return handle
    }

    func enter(_ pool: ConnectionPool, after turn: Int) {
        self.pool = pool
        self.turn = turn
    }

    func beginAgain(after turn: Int, isSecond: Bool) {
        if isSecond { self.isSecond = true }
        self.turn = turn
    }

    /// Leaves the pool and calls the completion handler; is idempotent.
    func end(_ result: Result<HTTPReply, HTTPError>) {
        guard let completion else { return }
        self.completion = nil
        client.end(self, result)
        completion(result)
        // Not earlier: the completion handler can call `distrustConnection` or `doubtConnection`.
        pool = nil
    }

    var isOnNewConnection: Bool {
        guard let handle, handle.transfer === self else { return false }
        return handle.connectionsOpened > 0
    }

    func distrustConnection() {
        if port != 0 { pool?.distrust(port, of: request) }
    }

    func doubtConnection() {
        if port != 0 { pool?.doubt(port, of: request) }
    }

    func cancel() {
        if let pool { pool.abandon(self, .cancelled) } else { end(.failure(.cancelled)) }
    }
}
