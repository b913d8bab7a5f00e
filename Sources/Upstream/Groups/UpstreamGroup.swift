// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Upstreams in the order of the settings, asked such that the first one that can, answers.
///
/// The rules are in ``Standing``, ``Course`` and ``ServerHealth``, which know neither clock nor
/// network; this is the shell around them.
@ServiceLoop
package final class UpstreamGroup {
    package let members: [any Forwarding]

    /// What is known of the servers.
    package let health: HealthBook

    /// All servers of all members.
    private let servers: [any Forwarding]

    /// Makes a group of at least one.
    ///
    /// - Parameter health: a book that other groups with the same upstreams share.
    package init(_ members: [any Forwarding], health: HealthBook = HealthBook()) {
        self.members = members
        self.health = health
        servers = members.flatMap(\.servers)
    }

    /// A reply and who gave it.
    package struct Reply: Sendable {
        package let message: Message
        package let upstream: any Forwarding
    }

    /// Asks until one answers or `deadline` passes.
    ///
    /// SERVFAIL, REFUSED, NOTIMP and FORMERR are no answers: the next one may do better.
    ///
    /// - Throws: the refusal of one that was reached if there is any, else the last failure.
    package func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Reply {
        let now = health.clocks.now()
        guard now < deadline else { throw .timedOut }
        let standing = Standing(
            servers.map { server in
                Standing.Entry(isProtected: server.isProtected, health: health.health(of: server))
            },
            now: now
        )
        for server in servers { lookAgain(at: server, now: now) }
        guard !standing.order.isEmpty else { throw .loop }
        if let copy = standing.copy { send(query, asCopyTo: servers[copy]) }
        let course = Course(
            standing.order.map { index in
                let server = servers[index]
                return Course.Candidate(
                    server: index,
                    isProtected: server.isProtected,
                    timeout: server.timeout,
                    patience: health.health(of: server).patience,
                    repeatsAfter: server.repeatsAfter
                )
            },
            deadline: deadline
        )
        return try await Run(query, course, servers, health).result()
    }

    /// A server that led back here is looked at again some time later, by no client's query.
    private func lookAgain(at server: any Forwarding, now: ContinuousClock.Instant) {
        if let end = health.health(of: server).loopsUntil, now >= end {
            health.seekLoop(through: server, failedSince: end - UpstreamLimits.loopRest)
        }
    }

    /// Sends a query whose answer only tells how the server is.
    private func send(_ query: ForwardedQuery, asCopyTo server: any Forwarding) {
        health.update(server) { $0.beganCopy() }
        let began = health.clocks.now()
        ServiceLoop.task { [health] in
            do throws(UpstreamError) {
                _ = try await server.exchange(query, deadline: began + server.timeout)
                health.answered(server, began: began)
            } catch {
                health.failed(server, error, began: began)
            }
            health.update(server) { $0.endedCopy() }
        }
    }
}

/// One query under way.
@ServiceLoop
private final class Run {
    private let query: ForwardedQuery
    private let servers: [any Forwarding]
    private let health: HealthBook
    private var course: Course
    private var outcome: Result<UpstreamGroup.Reply, UpstreamError>?
    private var continuation: CheckedContinuation<Void, Never>?

    /// Ends the patience with the latest server.
    private lazy var alarm = Alarm(health.clocks) { [weak self] in
        guard let self else { return }
        perform(course.tick(now: health.clocks.now()), after: .timedOut)
    }

    /// Servers that said no, and when they were asked.
    private var declined: [(server: any Forwarding, error: UpstreamError, began: Began)] = []

    private typealias Began = ContinuousClock.Instant

    init(
        _ query: ForwardedQuery,
        _ course: Course,
        _ servers: [any Forwarding],
        _ health: HealthBook
    ) {
        self.query = query
        self.course = course
        self.servers = servers
        self.health = health
    }

    /// Asks, and waits for the answer.
    func result() async throws(UpstreamError) -> UpstreamGroup.Reply {
        perform(course.begin(now: health.clocks.now()), after: .timedOut)
        if outcome == nil { await withCheckedContinuation { continuation = $0 } }
        guard let outcome else { preconditionFailure("a query ends with an outcome") }
        return try outcome.get()
    }

    /// Does what the course says.
    private func perform(_ moves: [Course.Move], after error: UpstreamError) {
        for move in moves {
            switch move {
            case .ask(let number, let server, let until, let since):
                ask(servers[server], number, until, since)
            case .end:
                for no in declined { health.seekLoop(through: no.server, failedSince: no.began) }
                end(.failure(declined.first?.error ?? error))
            }
        }
        alarm.set(outcome == nil ? course.wake : nil)
    }

    /// Sends a try.
    private func ask(
        _ server: any Forwarding,
        _ number: Int,
        _ until: ContinuousClock.Instant,
        _ since: ContinuousClock.Instant?
    ) {
        let began = health.clocks.now()
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                let message =
                    if let since {
                        try await server.repeatExchange(query, askedAt: since, deadline: until)
                    } else {
                        try await server.exchange(query, deadline: until)
                    }
                health.answered(server, began: began)
                guard course.answered(number) else { return }
                for no in declined { health.failed(no.server, no.error, began: no.began) }
                end(.success(UpstreamGroup.Reply(message: message, upstream: server)))
            } catch {
                failed(server, number, error, began: began, until: until)
            }
        }
    }

    /// A try has brought nothing.
    private func failed(
        _ server: any Forwarding,
        _ number: Int,
        _ error: UpstreamError,
        began: ContinuousClock.Instant,
        until: ContinuousClock.Instant
    ) {
        if error.isDecline {
            // Counts against it only if another server has an answer: names can be broken, too.
            declined.append((server, error, began))
        } else if error != .timedOut
            || until - began >= min(server.timeout, UpstreamLimits.fairWait)
        {
            health.failed(server, error, began: began)
        }
        let now = health.clocks.now()
        perform(course.failed(number, isFinal: error.isDecline, now: now), after: error)
    }

    /// The query has its answer, or will have none.
    private func end(_ outcome: Result<UpstreamGroup.Reply, UpstreamError>) {
        guard self.outcome == nil else { return }
        self.outcome = outcome
        alarm.set(nil)
        continuation?.resume()
        continuation = nil
    }
}
