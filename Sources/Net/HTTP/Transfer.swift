// SPDX-License-Identifier: Apache-2.0

@ServiceLoop
final class Transfer: RequestHandle {
    typealias Completion = @ServiceLoop (Transfer, Result<HTTPReply, HTTPError>) -> Void

    let started = Clock.now

    let deadline: Instant

    var handle: EasyHandle?

    var handles: EasyHandles?

    /// Number of connections opened for the request; valid after its end.
    var connectionsOpened = 0

    var wasSent = false

    let request: HTTPRequest

    /// Strong reference: a replaced pool lives until its last request has ended.
    private var pool: ConnectionPool?

    private(set) var turn = 0

    private(set) var isSecond = false

    private var completion: Completion?

    init(_ request: HTTPRequest, until deadline: Instant, _ completion: @escaping Completion) {
        self.deadline = deadline
        self.request = request
        self.completion = completion
    }

    /// Takes an idle or new handle from `handles`, and sets its options.
    func prepare(from handles: EasyHandles) throws(HTTPError) -> EasyHandle {
        let kind = EasyHandle.Kind(request)
        self.handles = handles
        return try prepare(try handles.take(for: kind), kind)
    }

    /// Sets the options of `handle` for the request.
    func prepare(_ handle: EasyHandle, _ kind: EasyHandle.Kind?) throws(HTTPError) -> EasyHandle {
        self.handle = handle
        try handle.prepare(request, kind, time: Clock.now.duration(to: deadline))
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
        pool = nil
        guard case .success(var reply) = result else { return completion(self, result) }
        reply.duration = started.duration(to: Clock.now)
        completion(self, .success(reply))
    }

    func cancel() {
        if let pool { pool.abandon(self, .cancelled) } else { end(.failure(.cancelled)) }
    }
}
