// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Transport for unprotected DNS over UDP; uses TCP for replies that are too large for UDP.
package final class PlainTransport: UpstreamTransport {
    package let isProtected = false
    package let validates: Bool

    package let repeatsAfter: Duration? = .zero

    private var tcpRetries: UInt64 = 0

    private let datagrams: UDPExchanger
    private let stream: StreamExchanger
    private let clocks: Clocks
    private var random = RandomPool()

    private var anyCaseUntil: Instant?

    private var caseTest: Attempt?

    private var caseTestedAt: Instant?

    /// Queries that failed over TCP, and wait for the result of `caseTest`.
    private(set) var undecided: [(attempt: Attempt, error: UpstreamError)] = []

    /// Ends the queries of `undecided` at their deadlines.
    ///
    /// The alarm is set only while `caseTest` retains the transport, so `unowned` is safe.
    private lazy var alarm = Alarm(clocks) { [unowned self] in expireUndecided() }

    package init(
        to address: SocketAddress,
        validates: Bool = false,
        clocks: Clocks = .system
    ) {
        self.validates = validates
        self.clocks = clocks
        datagrams = UDPExchanger(address, validates: validates, clocks: clocks)
        stream = StreamExchanger(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamExchanger.connect(to: address, deadline: deadline)
        }
    }

    package func carry(_ attempt: Attempt) {
        guard attempt.usesStream else { return datagrams.ask(attempt, of: self) }
        // An error over TCP counts as a timeout, because possibly the server serves only UDP.
        repeatOverStream(attempt) { _ in attempt.end(.failure(.timedOut)) }
    }

    /// Repeats a query over TCP after a truncated or possibly forged UDP reply (RFC 7766 §5).
    ///
    /// - Parameter failed: if not nil, is called after an error, and must end `attempt`.
    func repeatOverStream(
        _ attempt: Attempt,
        failed: (@ServiceLoop (UpstreamError) -> Void)? = nil
    ) {
        tcpRetries += 1
        let exchange = UpstreamExchange(
            attempt.query,
            over: .stream,
            usesEDNS: attempt.usesEDNS,
            validates: validates,
            random: &random
        )
        stream.ask(exchange, for: attempt, since: nil, failed: failed)
    }

    /// Repeats a query over TCP after a possibly forged reply.
    ///
    /// If the server is unreachable over TCP, a reply that is only an error header is accepted,
    /// because some servers answer a query with EDNS in this way (RFC 6891 §7).
    func received(doubtful reply: Span<UInt8>, for attempt: Attempt) {
        guard reply.count == QueryFacts.headerCount, let error = try? Message(parsing: reply)
        else { return repeatOverStream(attempt) }
        repeatOverStream(attempt) { failure in
            if case .unreachable = failure {
                attempt.end(.success(.message(error)))
            } else {
                attempt.end(.failure(failure))
            }
        }
    }

    package func count(in numbers: inout UpstreamNumbers) {
        stream.count(in: &numbers)
        numbers.tcpRetries = tcpRetries
        numbers.foreignReplies += datagrams.foreignReplies
    }

    package var forgeries: UInt64 { datagrams.forgeries }

    package func networkChanged() {
        anyCaseUntil = nil
        caseTestedAt = nil
        datagrams.renew()
        stream.drop()
    }
}

// MARK: - Servers that change the letter case

extension PlainTransport {
    /// Accepts a reply with changed letter case, or repeats the query over TCP.
    ///
    /// Accepts the reply only if the server also changes the letter case of a probe, because a
    /// client can choose a name for which replies have changed letter case.
    func received(otherCase reply: Message, for attempt: Attempt) {
        let now = clocks.now()
        if attempt === caseTest { anyCaseUntil = now + UpstreamLimits.anyCase }
        if let anyCaseUntil, now < anyCaseUntil {
            // Repeats the mixed-case check early, so that no query has to wait for it.
            if anyCaseUntil - now < UpstreamLimits.anyCase / 10 { testCase(until: now) }
            return attempt.end(.success(.message(reply)))
        }
        repeatOverStream(attempt) { [self] error in failedOverStream(attempt, error) }
    }

    private func failedOverStream(_ attempt: Attempt, _ error: UpstreamError) {
        testCase(until: attempt.deadline)
        if caseTest != nil, clocks.now() < attempt.deadline {
            undecided.append((attempt, error))
            alarm.bring(forward: attempt.deadline)
        } else {
            attempt.end(.failure(error))
        }
    }

    private func expireUndecided() {
        let now = clocks.now()
        let late = undecided.filter { $0.attempt.deadline <= now }
        undecided.removeAll { $0.attempt.deadline <= now }
        alarm.set(undecided.map(\.attempt.deadline).min())
        for (attempt, error) in late { attempt.end(.failure(error)) }
    }

    private func testCase(until deadline: Instant) {
        let now = clocks.now()
        if let caseTestedAt, now - caseTestedAt < UpstreamLimits.caseTestSpacing { return }
        guard caseTest == nil else { return }
        let end = max(deadline, now + UpstreamLimits.fairWait)
        let test = Attempt(
            .otherProbe,
            deadline: end,
            Completion { [self] in caseTested($0.outcome) }
        )
        caseTest = test
        datagrams.ask(test, of: self)
    }

    private func caseTested(_ result: Attempt.Outcome) {
        let waiting = undecided
        (undecided, caseTest) = ([], nil)
        alarm.set(nil)
        // Without a reply, the next query repeats the check.
        if case .success = result { caseTestedAt = clocks.now() }
        let now = clocks.now()
        let isAccepted = anyCaseUntil.map { now < $0 } ?? false
        for (attempt, error) in waiting {
            if isAccepted, now < attempt.deadline, !attempt.isOver, !attempt.isCancelled {
                carry(attempt)
            } else {
                attempt.end(.failure(error))
            }
        }
    }
}
