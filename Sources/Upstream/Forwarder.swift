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

    /// Counters, except those of the transport.
    private var counted = UpstreamNumbers()

    /// End of the period without EDNS after a failed EDNS test; nil if EDNS is used.
    private var noEDNSUntil: Instant?

    private var ednsTestedAt: Instant?

    /// Creates a server; sends nothing.
    ///
    /// - Parameter url: the address for display.
    package init(
        name: String,
        url: String,
        timeout: Duration,
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
    }

    package var isProtected: Bool { transport.isProtected }

    package var validates: Bool { transport.validates }

    package var repeatsAfter: Duration? { transport.repeatsAfter }

    package var forgeries: UInt64 { transport.forgeries }

    package var numbers: UpstreamNumbers {
        var numbers = counted
        transport.count(in: &numbers)
        return numbers
    }

    package func ask(_ attempt: Attempt) {
        let start = clocks.now()
        attempt.begin(at: self, start, usesEDNS: noEDNSUntil.map { start >= $0 } ?? true)
        transport.carry(attempt)
    }

    /// Receives the transport's reply: counts the result, or repeats the query without EDNS.
    func received(_ outcome: Attempt.Outcome, to attempt: Attempt) {
        let end = clocks.now()
        if case .success(let reply) = outcome {
            if attempt.usesEDNS, reply.rejectsEDNS, end < attempt.deadline {
                attempt.dropEDNS()
                return transport.carry(attempt)
            }
            if attempt.hasRejectedEDNS, !reply.rejectsEDNS { testEDNS() }
        }
        do throws(UpstreamError) {
            let answer = try outcome.get().answer
            counted.note(nil, at: end)
            latency.note(end - attempt.sent)
            attempt.complete(.success(answer))
        } catch {
            if !attempt.isCancelled { counted.note(error, at: end) }
            attempt.complete(.failure(error))
        }
    }

    package func networkChanged() {
        noEDNSUntil = nil
        ednsTestedAt = nil
        transport.networkChanged()
    }
}

// MARK: - EDNS

extension Forwarder {
    /// Tests with a probe whether the server supports EDNS (RFC 6891 §7).
    ///
    /// A client's query does not disable EDNS for later queries, because clients choose names.
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
    fileprivate var rejectsEDNS: Bool {
        if case .message(let message) = self { message.rejectsEDNS } else { false }
    }

    fileprivate var answer: UpstreamReply {
        get throws(UpstreamError) {
            if case .message(let message) = self { try message.checkAnswer() }
            return self
        }
    }
}

extension Message {
    /// True if the server does not support EDNS (RFC 6891 §6.1.3, §7).
    ///
    /// With an OPT record, FORMERR and NOTIMP concern the query itself.
    fileprivate var rejectsEDNS: Bool {
        rcode == .badVers || edns == nil && (rcode == .formErr || rcode == .notImp)
    }

    fileprivate func checkAnswer() throws(UpstreamError) {
        switch rcode {
        case .noError where isReferral: throw UpstreamError(self)
        case .noError, .nxDomain: break
        // The substituted name is too long: a final answer, proven by the DNAME (RFC 6672 §2.2).
        case .yxDomain where answers.contains { $0.type == .dname }: break
        default: throw UpstreamError(self)
        }
    }

    /// True if the message is a referral (RFC 2308 §2.2), as from a non-recursive server.
    private var isReferral: Bool {
        answers.isEmpty && !header.isAuthoritative && !header.recursionAvailable
            && authorities.contains { $0.type == .ns }
            && !authorities.contains { $0.type == .soa }
    }
}
