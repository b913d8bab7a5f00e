// SPDX-License-Identifier: Apache-2.0
package import Net

/// Simulated network and clock.
///
/// The time stands still while code is ready to run. Then the time jumps to the next event.
@ServiceLoop
package final class Simulation: HTTPTransport {
    package enum Step: Sendable {
        /// A reply; if it arrives after the deadline, the request times out.
        case reply(HTTPReply, after: Duration = .milliseconds(20))

        case fail(HTTPError, after: Duration = .zero)

        /// No reply; the request times out.
        ///
        /// If `reused` is true, the connection was reused. If `whileConnecting` is true, the
        /// connection is not opened, so that the request is not sent.
        case silence(reused: Bool = false, whileConnecting: Bool = false)
    }

    package struct Sent: Sendable {
        package let request: HTTPRequest
        package let at: Duration
        package let wait: Duration
    }

    private struct Sleeper {
        let end: Instant

        var isTimer = false

        let wake: @ServiceLoop (Bool) -> Void
    }

    private final class Timer: RequestHandle {
        private let world: Simulation
        private let number: Int
        let wasSent: Bool
        private let ready: Instant

        init(_ world: Simulation, _ number: Int, wasSent: Bool = true) {
            self.world = world
            self.number = number
            self.wasSent = wasSent
            ready = world.now + world.handshake
        }

        var sentAt: Instant? { wasSent && world.now >= ready ? ready : nil }

        func cancel() { world.wake(number, false) }

        func distrustConnection() { world.distrusted += 1 }

        func doubtConnection() { world.doubted += 1 }
    }

    /// Start of the simulated time, one day ahead of the system clock.
    package let start: Instant

    package private(set) var now: Instant

    /// Time from the start of a request until its connection is open.
    package var handshake = Duration.zero

    package nonisolated static let wall: Int64 = 1_700_000_000

    /// All requests so far; `cancelled` is the number of requests that their senders cancelled.
    package private(set) var sent: [Sent] = []
    package private(set) var cancelled = 0

    /// Number of calls of ``RequestHandle/distrustConnection()``.
    package private(set) var distrusted = 0

    /// Number of calls of ``RequestHandle/doubtConnection()``.
    package private(set) var doubted = 0

    package var script: (HTTPRequest) -> Step = { _ in .silence() }

    private var sleepers: [Int: Sleeper] = [:]

    private var drops = 0

    private var replies: Set<Int> = []

    private var activity = 0

    package nonisolated init() {
        start = Clock.now + .seconds(86_400)
        now = start
    }

    package func replaceConnections(of provider: String) {}

    package func reset(only provider: String?) {
        drops += 1
        let dropped = replies
        ServiceLoop.task { [self] in
            for number in dropped { wake(number, false) }
        }
    }

    package var elapsed: Duration { now - start }

    package var wallSeconds: Int64 { Self.wall + elapsed.components.seconds }

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
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle {
        sent.append(Sent(request: request, at: elapsed, wait: deadline - now))
        let begin = now
        let dropsBefore = drops
        let end: Instant
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
                completion(
                    result.map { reply in
                        var reply = reply
                        reply.duration = now - begin
                        return reply
                    }
                )
            } else if drops > dropsBefore {
                completion(.failure(.broken("the connections were dropped")))
            } else {
                cancelled += 1
                completion(.failure(.cancelled))
            }
        }
        return Timer(self, number, wasSent: step.isSent)
    }
}

extension Simulation.Step {
    fileprivate var isSent: Bool {
        switch self {
        case .silence(_, whileConnecting: true): false
        case .fail(.connect, _), .fail(.tls, _), .fail(.invalidRequest, _): false
        case .reply, .fail, .silence: true
        }
    }
}

extension Simulation {
    package func pause(until end: Instant) async throws(CancellationError) {
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

    private func timer(at end: Instant, _ action: @escaping @ServiceLoop () -> Void) -> Timer {
        activity += 1
        sleepers[activity] = Sleeper(end: end, isTimer: true) { if $0 { action() } }
        return Timer(self, activity)
    }

    private func wake(_ number: Int, _ isDone: Bool) {
        activity += 1
        sleepers.removeValue(forKey: number)?.wake(isDone)
    }

    private func settle() async {
        var quiet = 0
        while quiet < 40 {
            let before = activity
            await Task.yield()
            quiet = activity == before ? quiet + 1 : 0
        }
    }

    package func drive(
        until end: Instant,
        _ isDone: @escaping @Sendable @ServiceLoop () -> Bool
    ) async {
        await ServiceLoop.task { [self] in
            await settle()
            while !isDone() {
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

    package func advance(by duration: Duration) async {
        await drive(until: now + duration) { false }
    }
}
