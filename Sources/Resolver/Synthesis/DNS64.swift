// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Synthesis of AAAA records from A records on networks with NAT64 and without IPv4 (RFC 6147).
@ServiceLoop
final class DNS64 {
    private let scope: AnswerPolicy.Synthesis
    private let nat64: NAT64?
    private let origins: AnswerSourceRegistry
    private let clocks: Clocks

    weak var resolver: Resolver?

    init(
        _ scope: AnswerPolicy.Synthesis,
        _ nat64: NAT64?,
        origins: AnswerSourceRegistry,
        clocks: Clocks
    ) {
        self.scope = scope
        self.nat64 = nat64
        self.origins = origins
        self.clocks = clocks
    }

    var prefix: NAT64Prefix? { scope == .off ? nil : nat64?.prefix }

    func noteQuery() { nat64?.noteQuery() }

    /// Returns the prefix if the settings allow synthesis for `query`.
    func prefix(for query: Query, _ match: RouteTable.Match?) -> NAT64Prefix? {
        guard query.asksForAddress, query.question.recordClass == .in, let prefix else {
            return nil
        }
        return scope == .all || match?.asksVendors(query) ?? false ? prefix : nil
    }

    // MARK: - Resolving

    /// Returns the route for `query`.
    ///
    /// For `ipv4only.arpa`, if no route claims this name: nil (the default upstreams). In all other
    /// cases: `match`.
    ///
    /// Only the network's resolver answers `ipv4only.arpa` correctly (RFC 8880 §7.1).
    func match(_ query: Query, _ match: RouteTable.Match?) -> RouteTable.Match? {
        guard let match, !match.claimsSpecialNames else { return match }
        return query.question.name.isEqualOrBelow(.ipv4only) ? nil : match
    }

    func complete(
        _ found: ResolvedAnswer,
        _ pending: PendingQuery,
        _ completion: consuming Completion<ResolvedAnswer>
    ) {
        let query = pending.query
        guard let prefix = prefix(for: query, pending.match) else { return completion(found) }
        var found = found
        if query.question.type == .a {
            replaceSibling(of: &found, query, prefix)
            return completion(found)
        }
        exclude(from: &found.resolution, query)
        guard found.resolution.lacksAddresses(query.question) else { return completion(found) }
        guard !query.dnssecOK else {
            // Clients without DO must not get this answer from the cache.
            found.resolution.variant = query.variant
            return completion(found)
        }
        let addresses = Query(
            question: Question(name: query.question.name, type: .a),
            checkingDisabled: query.checkingDisabled
        )
        if let sibling = found.siblings.first(where: { $0.question == addresses.question }) {
            found.synthesize(from: sibling.resolution, query, prefix, origins, pending.trace)
            return completion(found)
        }
        guard clocks.now() < pending.deadline, !pending.isCancelled else {
            return completion(found)
        }
        let client = pending.client
        let synthesize = completion.after {
            [self, found] (answer: Resolution, completion) in
            // If a limit of `client` caused the failure, and `client` was evicted meanwhile,
            // repeats the query with the limits of the next client.
            if answer.isLimited, pending.client != client {
                return self.complete(found, pending, completion)
            }
            var found = found
            // A changed prefix means a change of the network.
            let isCurrent = self.prefix == prefix
            found.synthesize(from: answer, query, prefix, origins, pending.trace)
            if !isCurrent { found.resolution.lifetime = 0 }
            completion(found)
        }
        guard let resolver else { return ask(addresses, for: pending, pending.match, synthesize) }
        resolver.resolveAddresses(addresses, for: pending, synthesize)
    }

    private func ask(
        _ query: Query,
        for pending: PendingQuery,
        _ match: RouteTable.Match?,
        _ completion: consuming Completion<Resolution>
    ) {
        let answered = completion.after {
            (ended: (PendingQuery, ResolvedAnswer), completion) in
            completion(ended.1.resolution)
        }
        pending.resolution?.begin(
            PendingQuery(
                query,
                match,
                payer: pending.payer,
                now: clocks.now(),
                deadline: pending.deadline,
                answered
            )
        )
    }

    /// Replaces the AAAA NODATA of a vendor's reply with AAAA records from the reply's A records.
    ///
    /// Clients that set DO still get NODATA.
    private func replaceSibling(
        of found: inout ResolvedAnswer,
        _ query: Query,
        _ prefix: NAT64Prefix
    ) {
        let question = Question(name: query.question.name, type: .aaaa)
        guard
            let index = found.siblings.firstIndex(where: {
                $0.question == question && $0.resolution.lacksAddresses(question)
            })
        else { return }
        let plain = Query(question: question)
        var pair = ResolvedAnswer(found.siblings[index].resolution)
        pair.synthesize(from: found.resolution, plain, prefix, origins, nil)
        guard pair.resolution.variant != .any else { return }
        var denial = found.siblings[index].resolution
        denial.variant = Query(question: question, dnssecOK: true).variant
        found.siblings[index].resolution = denial
        found.siblings.append((question, pair.resolution))
    }

    /// Removes IPv4-mapped addresses, which are not reachable over IPv6 (RFC 6147 §5.1.4).
    private func exclude(from resolution: inout Resolution, _ query: Query) {
        guard !query.dnssecOK, resolution.sections.answerCount > 0,
            let message = resolution.sections.message(to: query.question)
        else { return }
        let kept = message.answers.filter { $0.data.ipv6?.mapped == nil }
        guard kept.count < message.answers.count,
            let rest = resolution.replacing(
                answers: kept,
                of: query.question,
                authorities: message.authorities
            )
        else { return }
        resolution = rest
        resolution.variant = query.variant
    }
}

// MARK: - Pointers

extension DNS64 {
    /// Returns the IPv4 reverse name for a PTR query for a synthesized address (RFC 6147 §5.3.1).
    func pointerTarget(of query: Query) -> Name? {
        guard !query.dnssecOK else { return nil }
        return pointerTarget(of: query.question)
    }

    private func pointerTarget(of question: Question) -> Name? {
        guard question.type == .ptr, let prefix, let address = question.name.reversedIPv6 else {
            return nil
        }
        return prefix.extract(address).map { Name(reverseOf: .v4($0)) }
    }

    /// True for PTR queries for synthesized addresses; ``SpecialNames`` does not apply to these.
    func translates(_ question: Question) -> Bool { pointerTarget(of: question) != nil }

    /// Answers with a CNAME to the IPv4 reverse name (`target`), and the PTR records of this name.
    func pointer(
        _ pending: PendingQuery,
        _ target: Name,
        _ completion: consuming Completion<ResolvedAnswer>
    ) {
        let query = pending.query
        let question = Question(name: target, type: .ptr)
        let inner = Query(question: question, checkingDisabled: query.checkingDisabled)
        let client = pending.client
        let alias = completion.after { [self] (answer: Resolution, completion) in
            if answer.isLimited, pending.client != client {
                return pointer(pending, target, completion)
            }
            guard !answer.isFailure else { return completion(ResolvedAnswer(answer.ofInner)) }
            let message = answer.sections.message(to: question)
            let ttls = (message?.answers ?? []) + (message?.authorities ?? [])
            let ttl = ttls.map(\.ttl).min() ?? ResolverLimits.failureLifetime
            let first = Record(name: query.question.name, ttl: ttl, data: .cname(target))
            var provenance = answer.provenance
            provenance.origin = origins.number(synthesizedFrom: provenance.origin)
            var resolution = try? Resolution(
                query.question,
                rcode: answer.rcode,
                answers: [first] + (message?.answers ?? []),
                authorities: message?.authorities ?? [],
                lifetime: min(answer.lifetime, ttl),
                variant: query.variant,
                explanation: provenance.isStale ? answer.explanation : .pointer,
                provenance: provenance
            )
            resolution?.isSubstitute = answer.isSubstitute
            completion(
                ResolvedAnswer(
                    resolution
                        ?? .failure(query, .other, "the answer is too large for a DNS message")
                )
            )
        }
        guard let resolver else { return ask(inner, for: pending, nil, alias) }
        resolver.resolvePointer(inner, for: pending, alias)
    }
}

// MARK: - Records

extension ResolvedAnswer {
    /// Replaces an answer without AAAA records by AAAA records synthesized from A records.
    ///
    /// If the A query failed, the failure of the A query replaces a NODATA answer
    /// (RFC 6147 §5.1.6).
    @ServiceLoop
    fileprivate mutating func synthesize(
        from addresses: Resolution,
        _ query: Query,
        _ prefix: NAT64Prefix,
        _ origins: AnswerSourceRegistry,
        _ trace: Trace?
    ) {
        if let answer = Resolution(
            synthesizedFrom: addresses,
            after: resolution,
            query,
            prefix,
            origins
        ) {
            trace?.note("synthesized AAAA records from A records, with \(prefix)")
            resolution = answer
        } else if addresses.isFailure, !resolution.isFailure {
            let lifetime = min(addresses.lifetime, resolution.lifetime)
            resolution = addresses.ofInner
            resolution.lifetime = lifetime
        }
    }
}

extension Resolution {
    /// Failure for the client, made from the failure of an A or PTR query of DNS64 itself.
    fileprivate var ofInner: Self {
        var answer = self
        if isLimited { answer.isCrowded = true }
        return answer
    }

    /// True if DNS64 replaces this AAAA answer: NODATA or SERVFAIL (RFC 6147 §5.1.2, §5.1.3).
    fileprivate func lacksAddresses(_ question: Question) -> Bool {
        guard !isRefused else { return false }
        guard rcode == .noError else { return isFailure }
        guard sections.answerCount > 0 else { return true }
        return !(sections.message(to: question)?.answers.contains { $0.type == .aaaa } ?? true)
    }

    /// Creates the AAAA answer from an A answer; nil if no address can be synthesized.
    ///
    /// The TTL is at most the TTL of the SOA in the negative answer (`denial`), or 600 s without an
    /// SOA (RFC 6147 §5.1.7). If `denial` must not be cached, the AAAA answer is not cached.
    fileprivate init?(
        synthesizedFrom addresses: Resolution,
        after denial: Resolution,
        _ query: Query,
        _ prefix: NAT64Prefix,
        _ origins: AnswerSourceRegistry
    ) {
        let name = query.question.name
        guard addresses.rcode == .noError, addresses.sections.answerCount > 0,
            let message = addresses.sections.message(to: Question(name: name, type: .a))
        else { return nil }
        let usual =
            denial.isSubstitute
            ? ResolverLimits.earlyLifetime : ResolverLimits.synthesizedLifetime
        let limit = denial.delegatedTTL(query.question) ?? usual
        let records = message.answers.compactMap { record -> Record? in
            switch record.data {
            case .a(let address):
                return prefix.synthesize(address).map {
                    Record(name: record.name, ttl: min(record.ttl, limit), data: .aaaa($0))
                }
            case .cname: return record
            default: return record.type == .dname ? record : nil
            }
        }
        guard records.contains(where: { $0.type == .aaaa }) else { return nil }
        var provenance = addresses.provenance
        provenance.origin = origins.number(synthesizedFrom: provenance.origin)
        let ttl = min(limit, records.map(\.ttl).min() ?? 0)
        let made = try? Resolution(
            query.question,
            answers: records,
            lifetime: denial.lifetime == 0 ? 0 : min(addresses.lifetime, ttl),
            variant: query.variant,
            explanation: .synthesized("AAAA from A by DNS64"),
            provenance: provenance
        )
        guard let made else { return nil }
        self = made
        isSubstitute = addresses.isSubstitute || denial.isSubstitute
    }

    private func delegatedTTL(_ question: Question) -> UInt32? {
        guard provenance.source == .upstream else { return nil }
        let authorities = sections.message(to: question)?.authorities
        return authorities?.first { $0.type == .soa }?.ttl
    }
}

extension Explanation {
    fileprivate static let pointer = synthesized(
        "PTR record of the IPv4 address in the NAT64 address"
    )

    static func synthesized(_ text: String) -> Explanation {
        Explanation(code: .synthesized, text: text)
    }
}
