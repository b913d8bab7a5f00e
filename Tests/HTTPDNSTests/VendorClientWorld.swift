// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import HTTPDNS

/// A network and a clock that do as they are told, in no time but their own.
///
/// Time stands still while anything can run, and then jumps to whatever is due next: so every test
/// takes as long as its code, and goes the same way each time.  All of it runs on the service loop,
/// whose jobs run in the order in which they came.
@ServiceLoop
final class World: HTTPTransport {
    /// What a server does with a request.
    enum Step: Sendable {
        /// Sends a reply after some time, or nothing if that is too late.
        case reply(HTTPReply, after: Duration = .milliseconds(20))

        /// Breaks the transfer.
        case fail(HTTPError, after: Duration = .zero)

        /// Never answers.
        case silence(reused: Bool = false)
    }

    /// A request, when it came, and how long it was given.
    struct Sent: Sendable {
        let request: HTTPRequest
        let at: Duration
        let wait: Duration
    }

    /// Somebody who waits for an instant.
    private struct Sleeper {
        let end: ContinuousClock.Instant
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// Where all tests begin.
    let start: ContinuousClock.Instant

    /// The present.
    private(set) var now: ContinuousClock.Instant

    /// Seconds since 1970 when the test begins, by our clock.
    nonisolated static let wall: Int64 = 1_700_000_000

    /// What was sent, and what came of it to the one who sent it.
    private(set) var sent: [Sent] = []
    private(set) var cancelled = 0

    /// What the servers do; may be changed while the test runs.
    var script: (HTTPRequest) -> Step = { _ in .silence() }

    private var sleepers: [Int: Sleeper] = [:]

    /// Rises with everything that happens; nothing happens any more when it stays.
    private var activity = 0

    nonisolated init() {
        start = ContinuousClock().systemEpoch + .seconds(1_000)
        now = start
    }

    /// How long the test has run.
    var elapsed: Duration { now - start }

    /// The last digits of the servers that were asked, in order.
    var hosts: String { sent.map { String($0.request.server.host.suffix(1)) }.joined() }

    /// When each request was sent, in milliseconds.
    var times: [Int] { sent.map { $0.at.milliseconds } }

    /// The clocks as a client wants them.
    var clocks: Clocks {
        Clocks(
            now: { ServiceLoop.assumeIsolated { self.now } },
            wallSeconds: {
                ServiceLoop.assumeIsolated { Self.wall + self.elapsed.components.seconds }
            },
            sleep: { (end) async throws(CancellationError) in try await self.pause(until: end) }
        )
    }

    @ServiceLoop
    func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> HTTPReply {
        sent.append(Sent(request: request, at: elapsed, wait: deadline - now))
        let begin = now
        do {
            switch script(request) {
            case .reply(var reply, let after) where now + after <= deadline:
                try await pause(until: now + after)
                reply.duration = now - begin
                return reply
            case .fail(let error, let after) where now + after <= deadline:
                try await pause(until: now + after)
                throw error
            case .silence(let reused):
                try await pause(until: deadline)
                throw HTTPError.timedOut(reused: reused)
            case .reply, .fail:
                try await pause(until: deadline)
                throw HTTPError.timedOut(reused: false)
            }
        } catch let error as HTTPError {
            throw error
        } catch {
            cancelled += 1
            throw .cancelled
        }
    }
}

// MARK: - Time

extension World {
    /// Waits until `end`.
    private func pause(until end: ContinuousClock.Instant) async throws(CancellationError) {
        activity += 1
        let number = activity
        defer { activity += 1 }
        guard !Task.isCancelled else { throw CancellationError() }
        let isDone = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                sleepers[number] = Sleeper(end: end, continuation: continuation)
            }
        } onCancel: {
            ServiceLoop.post { self.wake(number, false) }
        }
        guard isDone else { throw CancellationError() }
    }

    /// Ends a sleep.
    private func wake(_ number: Int, _ isDone: Bool) {
        activity += 1
        sleepers.removeValue(forKey: number)?.continuation.resume(returning: isDone)
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
    private func drive(
        until end: ContinuousClock.Instant,
        _ isDone: @escaping @Sendable @ServiceLoop () -> Bool
    ) async {
        await ServiceLoop.task { [self] in
            await settle()
            while !isDone() {
                let next = sleepers.min { ($0.value.end, $0.key) < ($1.value.end, $1.key) }
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
    func advance(by duration: Duration) async { await drive(until: now + duration) { false } }
}

// MARK: - Look-ups

/// A look-up that was begun.
@ServiceLoop
final class Begun {
    fileprivate(set) var result: Result<VendorReply, VendorFailure>?
    fileprivate var task: Task<Void, Never>?

    /// The caller does not want it any more.
    func cancel() { task?.cancel() }
}

extension World {
    /// Begins a look-up.
    func begin(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        families: Families = .both,
        route: String = "",
        within time: Duration = .seconds(3)
    ) throws -> Begun {
        let name = try Name(name)
        let deadline = now + time
        let begun = Begun()
        begun.task = ServiceLoop.task {
            do throws(VendorFailure) {
                let reply = try await client.lookUp(
                    name,
                    families: families,
                    route: route,
                    deadline: deadline
                )
                begun.result = .success(reply)
            } catch {
                begun.result = .failure(error)
            }
        }
        return begun
    }

    /// The result of a look-up, when it has come.
    func result(of begun: Begun) async throws -> Result<VendorReply, VendorFailure> {
        await drive(until: now + .seconds(60)) { begun.result != nil }
        return try #require(begun.result)
    }

    /// Looks up a name.
    func lookUp(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        families: Families = .both,
        within time: Duration = .seconds(3)
    ) async throws -> VendorReply {
        try await result(of: begin(client, name, families: families, within: time)).get()
    }

    /// The failure of a look-up that must fail.
    func failure(
        _ client: VendorClient,
        _ name: String = "www.example.com",
        within time: Duration = .seconds(3)
    ) async throws -> VendorFailure {
        switch try await result(of: begin(client, name, within: time)) {
        case .success(let reply): throw Unexpected(what: "answered \(reply)")
        case .failure(let failure): return failure
        }
    }
}

/// What must not have happened.
struct Unexpected: Error {
    let what: String
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int {
        Int(components.seconds) * 1_000 + Int(components.attoseconds / 1_000_000_000_000_000)
    }
}
