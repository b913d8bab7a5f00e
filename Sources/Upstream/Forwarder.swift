// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// One upstream server: sends queries over its transport and counts the results.
package final class Forwarder: Forwarding {
    package let name: String
    package let url: String
    package let timeout: Duration
    package let latency: LatencyHistogram

    private let transport: any UpstreamTransport
    private let clocks: Clocks

    private var failed = UpstreamNumbers()
    private var successes: UInt64 = 0
    private var consecutiveFailures: UInt64 = 0

    private var noEDNSUntil: Instant?

    private var ednsTestedAt: Instant?

    /// Attempts in flight at a learned server; empty for all other servers.
    private var inFlight: [ObjectIdentifier: Attempt] = [:]
    private let isLearned: Bool
    private var isWithdrawn = false

    /// Creates a server; sends nothing.
    ///
    /// - Parameter isLearned: true for a server of a ``LearnedUpstream``.
    package init(
        name: String,
        url: String,
        timeout: Duration,
        isLearned: Bool = false,
        over transport: any UpstreamTransport,
        latency: LatencyHistogram = LatencyHistogram(),
        clocks: Clocks = .system
    ) {
        self.name = name
        self.url = url
        self.timeout = timeout
        self.transport = transport
        self.latency = latency
        self.clocks = clocks
        self.isLearned = isLearned
    }

    /// False for a learned server even with TLS, because the network has chosen the server.
    package var isProtected: Bool { !isLearned && transport.isProtected }

    package var isEncrypted: Bool { transport.isProtected }

    package var validates: Bool { transport.validates }

    package var repeatsAfter: Duration? { transport.repeatsAfter }

    package var forgeries: UInt64 { transport.forgeries }

    package var numbers: UpstreamNumbers {
        var numbers = failed
        numbers.successes = successes
        numbers.queries += successes
        numbers.consecutiveFailures = consecutiveFailures
        transport.count(in: &numbers)
        return numbers
    }

    package func ask(_ attempt: Attempt) {
        guard !isWithdrawn else { return attempt.complete(.failure(.withdrawn)) }
        let start = attempt.began.nanoseconds > 0 ? attempt.began : clocks.now()
        attempt.begin(at: self, start, usesEDNS: noEDNSUntil.map { start >= $0 } ?? true)
        if isLearned { inFlight[ObjectIdentifier(attempt)] = attempt }
        transport.carry(attempt)
    }

    /// Counts the result of the transport, or repeats the query without EDNS.
    func received(_ outcome: consuming Attempt.Outcome, to attempt: Attempt) {
        guard !isWithdrawn else { return attempt.complete(.failure(.withdrawn)) }
        let end = clocks.now()
        if case .success(.message(let message)) = outcome {
            if attempt.usesEDNS, message.rejectsEDNS, end < attempt.deadline {
                attempt.dropEDNS()
                return transport.carry(attempt)
            }
            if attempt.hasRejectedEDNS, !message.rejectsEDNS { testEDNS() }
            if let failure = message.failure(for: attempt.query.question) {
                outcome = .failure(failure)
            }
        } else if case .success = outcome, attempt.hasRejectedEDNS {
            testEDNS()
        }
        if isLearned { inFlight[ObjectIdentifier(attempt)] = nil }
        switch outcome {
        case .success:
            successes += 1
            consecutiveFailures = 0
            latency.note(end - attempt.sent)
        case .failure(let error):
            guard !attempt.isCancelled else { break }
            failed.note(error, at: end)
            consecutiveFailures += 1
        }
        attempt.complete(outcome, at: end)
    }

    /// Ends all queries and rejects new queries.
    package func withdraw() {
        isWithdrawn = true
        let attempts = inFlight
        inFlight = [:]
        for attempt in attempts.values { attempt.withdraw() }
        transport.networkChanged()
    }

    package func networkChanged() {
        noEDNSUntil = nil
        ednsTestedAt = nil
        transport.networkChanged()
    }
}

// MARK: - EDNS

extension Forwarder {
    /// Checks with a probe if the server supports EDNS (RFC 6891 §7).
    ///
    /// A client's query must not disable EDNS: a client may query a name that always gets FORMERR.
    private func testEDNS() {
        let now = clocks.now()
        if let ednsTestedAt, now - ednsTestedAt < UpstreamLimits.ednsTestSpacing { return }
        ednsTestedAt = now
        let completion = Completion<Attempt> { [self] attempt in
            guard case .success(let reply) = attempt.outcome, reply.rejectsEDNS else { return }
            noEDNSUntil = clocks.now() + UpstreamLimits.noEDNS
        }
        transport.carry(Attempt(.probe, deadline: now + timeout, completion))
    }
}

extension UpstreamReply {
    var rejectsEDNS: Bool {
        if case .message(let message) = self { message.rejectsEDNS } else { false }
    }
}

extension Message {
    /// True if the server does not support EDNS (RFC 6891 §6.1.3, §7).
    var rejectsEDNS: Bool {
        rcode == .badVers || edns == nil && (rcode == .formErr || rcode == .notImp)
    }

    fileprivate func failure(for question: Question) -> UpstreamError? {
        switch rcode {
        case .noError where isReferral: UpstreamError(self)
        case .noError, .nxDomain: aliasChain(from: question).ending == .target ? nil : .aliases
        // With a DNAME, YXDOMAIN is a final answer: the substituted name is too long (RFC 6672
        // §2.2).
        case .yxDomain where answers.contains { $0.type == .dname }: nil
        default: UpstreamError(self)
        }
    }

    /// True for a referral (RFC 2308 §2.2), which a non-recursive server sends.
    private var isReferral: Bool {
        answers.isEmpty && !header.isAuthoritative && !header.recursionAvailable
            && authorities.contains { $0.type == .ns }
            && !authorities.contains { $0.type == .soa }
    }
}
