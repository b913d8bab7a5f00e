// SPDX-License-Identifier: Apache-2.0
package import Net

/// Retry and hedging plan of one vendor call: a state machine without clock or network.
///
/// Each server is queried once, plus one retry on a new connection if a reused connection timed
/// out.
package struct AttemptPlan: Sendable, Hashable {
    /// Next action of the caller.
    package enum Move: Sendable, Hashable {
        /// Query the server; the caller reports the result under this number.
        case ask(Int, SocketAddress, fresh: Bool, until: Instant)

        /// The call has failed; no try is in flight.
        case end
    }

    /// Cause of a failed try.
    package enum Fault: Sendable, Hashable {
        /// Another server may succeed.
        case server

        /// Possibly only a reused connection failed.
        case oldConnection

        /// The vendor refuses the account; every server will refuse it.
        case account

        /// The error is local; no other server helps.
        case ours
    }

    private let timeout: Duration

    private let hedgeAfter: Duration

    private var untried: ArraySlice<SocketAddress>

    /// Servers that were retried on a new connection.
    private var refreshed: Set<SocketAddress> = []

    private var running: [Int: SocketAddress] = [:]

    package private(set) var count = 0

    private var latest: Instant?

    /// Deadline of the call and of its tries.
    package private(set) var deadline: Instant

    /// True after the first answer, or after the failure of the call.
    package private(set) var isOver = false

    package init(
        order: [SocketAddress],
        timeout: Duration,
        hedgeAfter: Duration,
        deadline: Instant
    ) {
        untried = order[...]
        self.timeout = timeout
        self.hedgeAfter = hedgeAfter
        self.deadline = deadline
    }

    /// True if no try is in flight.
    package var isIdle: Bool { running.isEmpty }

    package var isExhausted: Bool { untried.isEmpty }

    /// Time of the next ``tick(now:)``; nil if none is needed.
    package var wake: Instant? {
        guard !isOver, !untried.isEmpty, let latest else { return nil }
        let next = latest + hedgeAfter
        return next < deadline ? next : nil
    }
}

// MARK: - Events

extension AttemptPlan {
    /// Starts the call; returns its first query.
    package mutating func begin(now: Instant) -> Move? {
        askNext(now)
    }

    /// Starts a hedged request if it is due.
    package mutating func tick(now: Instant) -> Move? {
        guard let wake, now >= wake, now < deadline else { return nil }
        return askNext(now)
    }

    /// Extends the deadline for a look-up that joined the call.
    package mutating func extend(to deadline: Instant) {
        self.deadline = max(self.deadline, deadline)
    }

    /// Records an answer; returns true for the first one, which completes the call.
    package mutating func answered(_ number: Int) -> Bool {
        running[number] = nil
        defer { isOver = true }
        return !isOver
    }

    /// Records a failed try.
    package mutating func failed(
        _ number: Int,
        _ fault: Fault,
        now: Instant
    ) -> Move? {
        guard let server = running.removeValue(forKey: number), !isOver else { return nil }
        switch fault {
        case .account:
            return end()
        case .ours:
            return running.isEmpty ? end() : nil
        case .oldConnection where now < deadline && refreshed.insert(server).inserted:
            return ask(server, fresh: true, now)
        case .server, .oldConnection:
            return askNext(now)
        }
    }

    /// Abandons the call.
    package mutating func abandon() {
        isOver = true
    }
}

// MARK: - Helpers

extension AttemptPlan {
    /// Queries the next server, or ends the call if no try is in flight.
    private mutating func askNext(_ now: Instant) -> Move? {
        if now < deadline, let server = untried.popFirst() {
            return ask(server, fresh: false, now)
        }
        return running.isEmpty ? end() : nil
    }

    private mutating func ask(
        _ server: SocketAddress,
        fresh: Bool,
        _ now: Instant
    ) -> Move {
        defer { count += 1 }
        running[count] = server
        latest = now
        return .ask(count, server, fresh: fresh, until: min(deadline, now + timeout))
    }

    private mutating func end() -> Move {
        isOver = true
        return .end
    }
}
