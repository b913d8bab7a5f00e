// SPDX-License-Identifier: Apache-2.0

/// One request under way, until whoever sent it is told what came of it.
@ServiceLoop
final class Transfer: RequestHandle {
    /// What is told, once.
    typealias Tell = @ServiceLoop (Transfer, Result<HTTPReply, HTTPError>) -> Void

    /// When the request was made.
    let started = Clock.now

    /// When it is given up.
    let deadline: ContinuousClock.Instant

    /// What it is sent with; nil before, and if it cannot be.
    var handle: EasyHandle?

    /// The handles that it goes back to.
    var handles: EasyHandles?

    /// Connections that were begun for it; known at the end.
    var connectionsOpened = 0

    /// Whether the server may have received it; known at the end.
    var wasSent = false

    /// The pool that it is in.
    ///
    /// Held, as a pool that was replaced lives until its last request has ended.
    private var pool: ConnectionPool?

    /// How often the pool had called libcurl before.
    private(set) var turn = 0

    /// Whether it is sent for the second time.
    private(set) var isSecond = false

    /// Who is to be told; nil once he was.
    private var tell: Tell?

    /// Makes a transfer that is in no pool yet.
    init(until deadline: ContinuousClock.Instant, _ tell: @escaping Tell) {
        self.deadline = deadline
        self.tell = tell
    }

    /// Notes that it is in `pool`, which is to end it at its deadline.
    func enter(_ pool: ConnectionPool, after turn: Int) {
        self.pool = pool
        self.turn = turn
    }

    /// Notes that it is in its pool for the second time.
    func beginAgain(after turn: Int) {
        isSecond = true
        self.turn = turn
    }

    /// Notes that it is in no pool any more, and tells what came of it; does nothing if that was done.
    func end(_ result: Result<HTTPReply, HTTPError>) {
        guard let tell else { return }
        self.tell = nil
        pool = nil
        guard case .success(var reply) = result else { return tell(self, result) }
        reply.duration = started.duration(to: Clock.now)
        tell(self, .success(reply))
    }

    func cancel() {
        if let pool { pool.abandon(self, .cancelled) } else { end(.failure(.cancelled)) }
    }
}
