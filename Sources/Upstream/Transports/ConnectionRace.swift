// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Query that is sent on several connections to a server; the first reply is used.
@ServiceLoop
final class ConnectionRace {
    typealias Reply = (octets: [UInt8], connection: PipelinedConnection)

    /// Returns a connection to use instead of an ended connection; nil for none.
    typealias Replacement =
        @ServiceLoop (PipelinedConnection, UpstreamError) -> PipelinedConnection?

    private let message: [UInt8]
    private let attempt: Attempt
    private let clocks: Clocks
    private let waiter = Waiter()
    private var running = 0

    private(set) var connections: [PipelinedConnection] = []

    private var outcome = Result<Reply, UpstreamError>.failure(.timedOut)

    init(_ message: [UInt8], _ attempt: Attempt, _ clocks: Clocks) {
        self.message = message
        self.attempt = attempt
        self.clocks = clocks
    }

    func reply() async throws(UpstreamError) -> Reply {
        _ = await waiter.wait(until: nil)
        return try outcome.get()
    }

    /// Sends the query on `connection`.
    ///
    /// If the connection fails, sends the query on the connection that `replacement` returns. After
    /// a limited number of calls, `replacement` must return nil, so that the repetitions end.
    func ask(_ connection: PipelinedConnection, replacement: Replacement? = nil) {
        running += 1
        connections.append(connection)
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                end(.success((try await connection.ask(message, for: attempt), connection)))
            } catch {
                if waiter.outcome == nil, let next = replacement?(connection, error) {
                    ask(next, replacement: replacement)
                }
                running -= 1
                if running == 0 { end(.failure(error)) }
            }
        }
    }

    /// Also sends the query on the connections that `other` returns.
    ///
    /// Calls `other` at `start`, or after half of the time until the deadline, if that is earlier.
    /// Until a reply arrives, calls `other` again after ``UpstreamLimits/openingWait``, and then at
    /// doubling intervals of at most ``UpstreamLimits/fairWait``. If a connection of `other` ends,
    /// `replacement` can return another connection.
    func ask(
        at start: Instant,
        replacement: @escaping Replacement,
        _ other: @escaping @ServiceLoop () -> PipelinedConnection?
    ) {
        ServiceLoop.task { [self] in
            let now = clocks.now()
            var next = min(start, now + (attempt.deadline - now) / 2)
            var pause = UpstreamLimits.openingWait
            while true {
                if next > clocks.now() { try? await clocks.sleep(next) }
                guard waiter.outcome == nil, clocks.now() < attempt.deadline else { return }
                if let connection = other() { ask(connection, replacement: replacement) }
                next = clocks.now() + pause
                pause = min(pause * 2, UpstreamLimits.fairWait)
            }
        }
    }

    private func end(_ result: Result<Reply, UpstreamError>) {
        guard waiter.outcome == nil else { return }
        outcome = result
        waiter.resume(.ready)
    }
}
