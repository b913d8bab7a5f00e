// SPDX-License-Identifier: Apache-2.0
import Net
import Synchronization

@testable import HTTPDNS

/// A clock that stands still until it is moved.
final class TestClock: Sendable {
    /// Where all tests begin.
    let start = ContinuousClock.now

    private let elapsed = Mutex(Duration.zero)

    /// The present.
    var now: ContinuousClock.Instant { start + elapsed.withLock { $0 } }

    /// Moves the clock on.
    func advance(by duration: Duration) {
        elapsed.withLock { $0 += duration }
    }

    /// The clock as a client wants it.
    var clocks: VendorClient.Clocks {
        VendorClient.Clocks(now: { self.now }, wallSeconds: { 1_700_000_000 })
    }
}

/// A network whose servers do as they are told, in no time but the test clock's.
final class ScriptedTransport: HTTPTransport {
    /// What a server does with a request.
    enum Step: Sendable {
        /// Sends a reply after some time, or nothing if that is too late.
        case reply(HTTPReply, after: Duration = .milliseconds(20))

        /// Breaks the transfer at once.
        case fail(HTTPError)

        /// Never answers.
        case silence
    }

    /// A request, when it came, and how long it was given.
    struct Sent: Sendable {
        let request: HTTPRequest
        let at: Duration
        let wait: Duration
    }

    private let clock: TestClock
    private let script: @Sendable (HTTPRequest) -> Step
    private let log = Mutex<[Sent]>([])

    init(_ clock: TestClock, script: @escaping @Sendable (HTTPRequest) -> Step) {
        self.clock = clock
        self.script = script
    }

    /// What was sent so far.
    var sent: [Sent] { log.withLock { $0 } }

    func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> HTTPReply {
        let begin = clock.now
        log.withLock {
            $0.append(Sent(request: request, at: begin - clock.start, wait: deadline - begin))
        }
        if Task.isCancelled { throw .cancelled }
        switch script(request) {
        case .reply(var reply, let after) where begin + after <= deadline:
            clock.advance(by: after)
            reply.duration = after
            return reply
        case .reply, .silence:
            clock.advance(by: deadline - begin)
            throw .timedOut(reused: false)
        case .fail(let error):
            throw error
        }
    }
}
