// SPDX-License-Identifier: Apache-2.0
package import Net

/// One call's way through the servers: an event in, at most one move out.
///
/// The next server is asked at once when one fails, and after `hedgeAfter` when none has answered;
/// each server once, except that a silence on an old connection earns it one more try on a fresh
/// one.  The first answer ends the call; tries that still run then report in vain.
package struct Course: Sendable, Hashable {
    /// What to do now.
    package enum Move: Sendable, Hashable {
        /// Ask `server`, and report what came of it under the number of the try.
        case ask(Int, SocketAddress, fresh: Bool, until: ContinuousClock.Instant)

        /// Nothing more will come: the call has failed.
        case end
    }

    /// Whose fault it is that a try brought nothing, and so what helps.
    package enum Fault: Sendable, Hashable {
        /// The server's; another may do better.
        case server

        /// Maybe only that of a connection that was open before.
        case oldConnection

        /// The account's; every server will say so.
        case account

        /// Ours; no other server helps.
        case ours
    }

    /// The longest that one try may take.
    private let timeout: Duration

    /// How long nothing may come before the next server is asked.
    private let hedgeAfter: Duration

    /// Servers that were not asked yet, the next one first.
    private var untried: ArraySlice<SocketAddress>

    /// Servers that had their try on a fresh connection.
    private var refreshed: Set<SocketAddress> = []

    /// The tries that run, by number.
    private var running: [Int: SocketAddress] = [:]

    /// How many tries there were.
    package private(set) var count = 0

    /// When the latest try began.
    private var latest: ContinuousClock.Instant?

    /// No try goes beyond this.
    package private(set) var deadline: ContinuousClock.Instant

    /// Whether there was an answer, or none will come.
    package private(set) var isOver = false

    /// Makes the course of a call that has not begun.
    package init(
        order: [SocketAddress],
        timeout: Duration,
        hedgeAfter: Duration,
        deadline: ContinuousClock.Instant
    ) {
        untried = order[...]
        self.timeout = timeout
        self.hedgeAfter = hedgeAfter
        self.deadline = deadline
    }

    /// Whether no try runs.
    package var isIdle: Bool { running.isEmpty }

    /// Whether every server was asked.
    package var isExhausted: Bool { untried.isEmpty }

    /// When ``tick(now:)`` has something to do; nil if it never will.
    package var wake: ContinuousClock.Instant? {
        guard !isOver, !untried.isEmpty, let latest else { return nil }
        let next = latest + hedgeAfter
        return next < deadline ? next : nil
    }
}

// MARK: - Events

extension Course {
    /// The call begins.
    package mutating func begin(now: ContinuousClock.Instant) -> Move? {
        askNext(now)
    }

    /// Time has passed.
    package mutating func tick(now: ContinuousClock.Instant) -> Move? {
        guard let wake, now >= wake, now < deadline else { return nil }
        return askNext(now)
    }

    /// Somebody who joined the call can wait until `deadline`.
    package mutating func extend(to deadline: ContinuousClock.Instant) {
        self.deadline = max(self.deadline, deadline)
    }

    /// A try brought an answer.
    ///
    /// - Returns: whether it is the call's; false for an answer that came too late.
    package mutating func answered(_ number: Int) -> Bool {
        running[number] = nil
        defer { isOver = true }
        return !isOver
    }

    /// A try brought nothing.
    package mutating func failed(
        _ number: Int,
        _ fault: Fault,
        now: ContinuousClock.Instant
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

    /// Nobody waits any more.
    package mutating func abandon() {
        isOver = true
    }
}

// MARK: - Helpers

extension Course {
    /// Asks the next server if there is one, or ends the call if nothing is left to come.
    private mutating func askNext(_ now: ContinuousClock.Instant) -> Move? {
        if now < deadline, let server = untried.popFirst() {
            return ask(server, fresh: false, now)
        }
        return running.isEmpty ? end() : nil
    }

    /// Begins a try.
    private mutating func ask(
        _ server: SocketAddress,
        fresh: Bool,
        _ now: ContinuousClock.Instant
    ) -> Move {
        defer { count += 1 }
        running[count] = server
        latest = now
        return .ask(count, server, fresh: fresh, until: min(deadline, now + timeout))
    }

    /// Ends the call without an answer.
    private mutating func end() -> Move {
        isOver = true
        return .end
    }
}
