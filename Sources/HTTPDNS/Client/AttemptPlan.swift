// SPDX-License-Identifier: Apache-2.0
package import Net

/// State machine that plans the retries and hedged requests of one vendor call.
///
/// A plan queries each server at most once, and at most `maximumServers` servers, because requests
/// are billed. If a reused connection to a server failed, or a server refused a connection while
/// others were in use, the plan queries this server again. If a server rejects the request, the plan
/// queries at most one further server.
package struct AttemptPlan: Sendable, Hashable {
    package enum Move: Sendable, Hashable {
        /// The integer identifies the request.
        case ask(Int, SocketAddress, fresh: Bool, until: Instant)

        case end
    }

    package enum Fault: Sendable, Hashable {
        case server

        case unconnected

        /// A new connection may succeed.
        case oldConnection

        /// The server may accept the next connection, for example from another host.
        case refusedConnection

        /// The server rejects the request; perhaps all servers reject it.
        case rejected

        case ours
    }

    private let timeout: Duration

    private let hedgeAfter: Duration

    private var untried: ArraySlice<SocketAddress>

    private var left: Int

    private var refreshed: Set<SocketAddress> = []

    private var hasReconnected = false

    private var mayHedge = true

    private struct Request: Hashable {
        let number: Int
        let server: SocketAddress
    }

    private var running = ShortArray<Request>()

    package private(set) var count = 0

    private var first: Instant?
    private var latest: Instant?

    package private(set) var deadline: Instant

    package private(set) var isOver = false

    package init(
        order: [SocketAddress],
        maximumServers: Int = .max,
        timeout: Duration,
        hedgeAfter: Duration,
        deadline: Instant
    ) {
        untried = order[...]
        left = min(maximumServers, order.count)
        self.timeout = timeout
        self.hedgeAfter = hedgeAfter
        self.deadline = deadline
    }

    package var isExhausted: Bool { untried.isEmpty }

    package var wake: Instant? {
        guard !isOver, mayHedge, !untried.isEmpty, left > 0, let latest else { return nil }
        let next = latest + hedgeAfter
        return next < deadline ? next : nil
    }

    package func isHedgeDue(at now: Instant) -> Bool {
        now < deadline && wake.map { now >= $0 } ?? false
    }
}

// MARK: - Events

extension AttemptPlan {
    package mutating func begin(now: Instant) -> Move? {
        askNext(now)
    }

    package mutating func tick(now: Instant) -> Move? {
        isHedgeDue(at: now) ? askNext(now) : nil
    }

    /// After a failure, the next server is still queried.
    package mutating func stopHedging() {
        mayHedge = false
    }

    package mutating func extend(to deadline: Instant) {
        self.deadline = max(self.deadline, deadline)
    }

    /// Returns true for the first answer.
    package mutating func answered(_ number: Int) -> Bool {
        running.removeAll { $0.number == number }
        defer { isOver = true }
        return !isOver
    }

    package mutating func failed(
        _ number: Int,
        _ fault: Fault,
        now: Instant
    ) -> Move? {
        guard let index = running.firstIndex(where: { $0.number == number }) else { return nil }
        let server = running.remove(at: index).server
        guard !isOver else { return nil }
        switch fault {
        case .ours:
            return running.isEmpty ? end() : nil
        case .oldConnection where now < deadline && refreshed.insert(server).inserted:
            return ask(server, fresh: true, now)
        case .refusedConnection where now < deadline && !hasReconnected:
            hasReconnected = true
            return ask(server, fresh: false, now)
        case .unconnected, .refusedConnection:
            left += 1
            return askNext(now)
        case .rejected:
            left = min(left, 1)
            return askNext(now)
        case .server, .oldConnection:
            return askNext(now)
        }
    }

    package mutating func abandon() {
        isOver = true
    }
}

// MARK: - Helpers

extension AttemptPlan {
    private mutating func askNext(_ now: Instant) -> Move? {
        if now < deadline, left > 0, let server = untried.popFirst() {
            left -= 1
            return ask(server, fresh: false, now)
        }
        return running.isEmpty ? end() : nil
    }

    /// The first request can last longer than ``deadline``, because the vendor would process this
    /// request even after its cancellation.
    private mutating func ask(
        _ server: SocketAddress,
        fresh: Bool,
        _ now: Instant
    ) -> Move {
        defer { count += 1 }
        running.append(Request(number: count, server: server))
        let end = max(deadline, (first ?? now) + timeout)
        first = first ?? now
        latest = now
        return .ask(count, server, fresh: fresh, until: min(end, now + timeout))
    }

    private mutating func end() -> Move {
        isOver = true
        return .end
    }
}
