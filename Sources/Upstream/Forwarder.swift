// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// One server that queries are forwarded to: asks it over its transport, and keeps count of what comes of that.
package final class Forwarder: Forwarding {
    package let name: String
    package let url: String
    package let timeout: Duration
    package let latency: LatencyHistogram

    private let transport: any UpstreamTransport
    private let clocks: Clocks

    /// What was counted, without what the transport counts.
    private var counted = UpstreamNumbers()

    /// Until when it is asked without EDNS, because it failed a test; nil if it knows EDNS.
    private var noEDNSUntil: ContinuousClock.Instant?

    /// When it was last tested for EDNS.
    private var ednsTestedAt: ContinuousClock.Instant?

    /// Makes a server that nothing is sent to yet.
    ///
    /// - Parameters:
    ///   - url: what people are shown.
    ///   - latency: what the server notes its latencies in.
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

    package func ask(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place?,
        _ tell: @escaping @ServiceLoop (Result<Message, UpstreamError>) -> Void
    ) {
        let start = clocks.now()
        var query = query
        if let noEDNSUntil, start < noEDNSUntil { query.usesEDNS = false }
        transport.carry(query, repeating: earlier, deadline: deadline, place) {
            [self, query] reply in
            guard query.usesEDNS, case .success(let message) = reply, message.rejectsEDNS,
                clocks.now() < deadline
            else { return finish(query, reply, since: start, tell) }
            var plain = query
            plain.usesEDNS = false
            transport.carry(plain, repeating: nil, deadline: deadline, place) { [self] reply in
                if case .success(let message) = reply, !message.rejectsEDNS { testEDNS() }
                finish(query, reply, since: start, tell)
            }
        }
    }

    /// Counts a query that began at `start`, and completes it.
    private func finish(
        _ query: ForwardedQuery,
        _ reply: Result<Message, UpstreamError>,
        since start: ContinuousClock.Instant,
        _ tell: @ServiceLoop (Result<Message, UpstreamError>) -> Void
    ) {
        let end = clocks.now()
        do throws(UpstreamError) {
            let answer = try reply.get().answer
            counted.note(nil, at: end)
            latency.note(end - start)
            tell(.success(answer))
        } catch {
            // A cancelled query says nothing about the server.
            if !query.isCancelled { counted.note(error, at: end) }
            tell(.failure(error))
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
    /// Tests with the daemon's own question whether the server knows EDNS (RFC 6891 §7).
    ///
    /// A client's query got an answer without EDNS only, which is reason enough for that query; for
    /// later ones it is not, as clients choose names.
    private func testEDNS() {
        let now = clocks.now()
        if let ednsTestedAt, now - ednsTestedAt < UpstreamLimits.ednsTestSpacing { return }
        ednsTestedAt = now
        transport.carry(.probe, repeating: nil, deadline: now + timeout, nil) { [self] reply in
            guard case .success(let message) = reply, message.rejectsEDNS else { return }
            noEDNSUntil = clocks.now() + UpstreamLimits.noEDNS
        }
    }
}

extension Message {
    /// Whether the server does not know EDNS (RFC 6891 §6.1.3, §7).
    ///
    /// The sign is FORMERR or NOTIMP without an OPT record, or BADVERS; with an OPT record FORMERR and
    /// NOTIMP are about the query itself.
    fileprivate var rejectsEDNS: Bool {
        rcode == .badVers || edns == nil && (rcode == .formErr || rcode == .notImp)
    }

    /// The message, if it is an answer.
    ///
    /// - Throws: `UpstreamError.declined`.
    fileprivate var answer: Message {
        get throws(UpstreamError) {
            switch rcode {
            case .noError where isReferral: throw UpstreamError(self)
            case .noError, .nxDomain: return self
            // The substituted name would be too long: final, and proven by the DNAME (RFC 6672 §2.2).
            case .yxDomain where answers.contains { $0.type == .dname }: return self
            default: throw UpstreamError(self)
            }
        }
    }

    /// Whether the message refers to other servers (RFC 2308 §2.2), as one without recursion does
    /// that is no authority for the name.
    ///
    /// NODATA without an SOA has no NS records, or comes from a server with recursion.
    private var isReferral: Bool {
        answers.isEmpty && !header.isAuthoritative && !header.recursionAvailable
            && authorities.contains { $0.type == .ns }
            && !authorities.contains { $0.type == .soa }
    }
}
