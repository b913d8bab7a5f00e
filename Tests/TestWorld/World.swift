// SPDX-License-Identifier: Apache-2.0
package import Net

/// A network and a clock that do as they are told, in no time but their own.
///
/// Time stands still while anything can run, and then jumps to whatever is due next: so every test
/// takes as long as its code, and goes the same way each time.  All of it runs on the service loop,
/// whose jobs run in the order in which they came.
@ServiceLoop
package final class World: HTTPTransport {
    /// What a server does with a request.
    package enum Step: Sendable {
        /// Sends a reply after some time, or nothing if that is too late.
        case reply(HTTPReply, after: Duration = .milliseconds(20))

        /// Breaks the transfer.
        case fail(HTTPError, after: Duration = .zero)

        /// Never answers; `whileConnecting`, no connection is made, so nothing is sent either.
        case silence(reused: Bool = false, whileConnecting: Bool = false)
    }

    /// A request, when it came, and how long it was given.
    package struct Sent: Sendable {
        package let request: HTTPRequest
        package let at: Duration
        package let wait: Duration
    }

    /// Something that waits for an instant.
    private struct Sleeper {
        let end: ContinuousClock.Instant

        /// Whether it is a timer, rather than something that happens.
        var isTimer = false

        /// Told whether the instant came; else it was woken before.
        let wake: @ServiceLoop (Bool) -> Void
    }

    /// A timer of this world's clock, or a request.
    private final class Timer: RequestHandle {
        private let world: World
        private let number: Int
        let wasSent: Bool

        init(_ world: World, _ number: Int, wasSent: Bool = true) {
            self.world = world
            self.number = number
            self.wasSent = wasSent
        }

        func cancel() { world.wake(number, false) }
    }

    /// Where the test begins: a day ahead of the system's clock, so that instants of both compare
    /// as what they are, of different worlds.
    package let start: ContinuousClock.Instant

    /// The present.
    package private(set) var now: ContinuousClock.Instant

    /// Seconds since 1970 when the test begins, by our clock: Tue, 14 Nov 2023 22:13:20 GMT.
    package nonisolated static let wall: Int64 = 1_700_000_000

    /// What was sent, and how much of it was given up by the one who sent it.
    package private(set) var sent: [Sent] = []
    package private(set) var cancelled = 0

    /// What the servers do; may be changed while the test runs.
    package var script: (HTTPRequest) -> Step = { _ in .silence() }

    private var sleepers: [Int: Sleeper] = [:]

    /// How often all connections were dropped.
    private var drops = 0

    /// The numbers of the sleepers that are requests.
    private var replies: Set<Int> = []

    /// Rises with everything that happens; nothing happens any more when it stays.
    private var activity = 0

    package nonisolated init() {
        start = ContinuousClock.now + .seconds(86_400)
        now = start
    }

    package func reset() {
        drops += 1
        let dropped = replies
        ServiceLoop.task { [self] in
            for number in dropped { wake(number, false) }
        }
    }

    /// How long the test has run.
    package var elapsed: Duration { now - start }

    /// Seconds since 1970, by our clock.
    package var wallSeconds: Int64 { Self.wall + elapsed.components.seconds }

    /// The clocks as those who are tested want them.
    package var clocks: Clocks {
        Clocks(
            now: { ServiceLoop.assumeIsolated { self.now } },
            wallSeconds: { ServiceLoop.assumeIsolated { self.wallSeconds } },
            timer: { self.timer(at: $0, $1) }
        )
    }

    @discardableResult
    package func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell
    ) -> any RequestHandle {
        sent.append(Sent(request: request, at: elapsed, wait: deadline - now))
        let begin = now
        let dropsBefore = drops
        let end: ContinuousClock.Instant
        let result: Result<HTTPReply, HTTPError>
        let step = script(request)
        switch step {
        case .reply(let reply, let after) where now + after <= deadline:
            (end, result) = (now + after, .success(reply))
        case .fail(let error, let after) where now + after <= deadline:
            (end, result) = (now + after, .failure(error))
        case .silence(let reused, _):
            (end, result) = (deadline, .failure(.timedOut(reused: reused)))
        case .reply, .fail:
            (end, result) = (deadline, .failure(.timedOut(reused: false)))
        }
        activity += 1
        let number = activity
        replies.insert(number)
        sleepers[number] = Sleeper(end: end) { [self] isDone in
            replies.remove(number)
            if isDone {
                tell(
                    result.map { reply in
                        var reply = reply
                        reply.duration = now - begin
                        return reply
                    }
                )
            } else if drops > dropsBefore {
                tell(.failure(.broken("the connections were dropped")))
            } else {
                cancelled += 1
                tell(.failure(.cancelled))
            }
        }
        return Timer(self, number, wasSent: step.isSent)
    }
}

extension World.Step {
    /// Whether the server receives the request.
    fileprivate var isSent: Bool {
        switch self {
        case .silence(_, whileConnecting: true): false
        case .fail(.connect, _), .fail(.tls, _), .fail(.invalidRequest, _): false
        case .reply, .fail, .silence: true
        }
    }
}

// MARK: - Time

extension World {
    /// Waits until `end`.
    package func pause(
        until end: ContinuousClock.Instant
    ) async throws(CancellationError) {
        activity += 1
        let number = activity
        defer { activity += 1 }
        guard !Task.isCancelled else { throw CancellationError() }
        let isDone = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                sleepers[number] = Sleeper(end: end) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            ServiceLoop.post { self.wake(number, false) }
        }
        guard isDone else { throw CancellationError() }
    }

    /// Calls `action` at `end`.
    private func timer(
        at end: ContinuousClock.Instant,
        _ action: @escaping @ServiceLoop () -> Void
    ) -> Timer {
        activity += 1
        sleepers[activity] = Sleeper(end: end, isTimer: true) { if $0 { action() } }
        return Timer(self, activity)
    }

    /// Ends a sleep.
    private func wake(_ number: Int, _ isDone: Bool) {
        activity += 1
        sleepers.removeValue(forKey: number)?.wake(isDone)
    }

    /// Lets everything run that can without time passing.
    private func settle() async {
        var quiet = 0
        while quiet < 40 {
            let before = activity
            await Task.yield()
            quiet = activity == before ? quiet + 1 : 0
        }
    }

    /// Lets time pass until `isDone`, at most until `end`.
    package func drive(
        until end: ContinuousClock.Instant,
        _ isDone: @escaping @Sendable @ServiceLoop () -> Bool
    ) async {
        await ServiceLoop.task { [self] in
            await settle()
            while !isDone() {
                // Replies and their absence come before timers of the same instant.
                let next = sleepers.min { first, second in
                    (first.value.end, first.value.isTimer ? 1 : 0, first.key)
                        < (second.value.end, second.value.isTimer ? 1 : 0, second.key)
                }
                guard let next, next.value.end <= end else {
                    now = max(now, end)
                    return
                }
                now = max(now, next.value.end)
                wake(next.key, true)
                await settle()
            }
        }.value
    }

    /// Lets some time pass.
    package func advance(by duration: Duration) async {
        await drive(until: now + duration) { false }
    }
}
