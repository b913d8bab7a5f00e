// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Synthesis of AAAA records from A records on networks with NAT64 and without IPv4 (RFC 6147).
///
/// A stage before the cache: a synthesized answer is cached as any other answer.
@ServiceLoop
final class DNS64 {
    /// Resolver of the A and PTR queries.
    @ServiceLoop
    protocol Resolving: AnyObject {
        /// Resolves an A query through cache and deduplication; vendor calls are charged to `payer`,
        /// nil for the daemon itself.
        func resolveAddresses(
            _ query: Query,
            payer: ClientNetwork?,
            deadline: Instant,
            _ completion: consuming Completion<Resolution>
        )

        /// Resolves a PTR query, also with static hosts and special names.
        func resolvePointer(
            _ query: Query,
            deadline: Instant,
            _ completion: consuming Completion<Resolution>
        )
    }

    private let scope: AnswerPolicy.Synthesis
    private let nat64: NAT64?
    private let origins: AnswerSourceRegistry
    private let clocks: Clocks

    /// Nil after a reload has replaced the resolver of a query in flight.
    weak var resolver: (any Resolving)?

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

    /// The prefix in use; nil if nothing is synthesized.
    var prefix: NAT64Prefix? { scope == .off ? nil : nat64?.prefix }

    /// Notes that a client waits for an answer.
    func noteQuery() { nat64?.noteQuery() }

    /// Returns the prefix for a query whose name may get synthesized addresses.
    func prefix(for query: Query, _ match: RouteTable.Match?) -> NAT64Prefix? {
        guard query.asksForAddress, query.question.recordClass == .in, let prefix else {
            return nil
        }
        return scope == .all || match?.asksVendors(query) ?? false ? prefix : nil
    }

    // MARK: - Resolving

    /// Returns the route of a query: none for `ipv4only.arpa`, which belongs to the network's
    /// resolver (RFC 8880 §7.1).
    func match(_ query: Query, _ match: RouteTable.Match?) -> RouteTable.Match? {
        guard let match, !match.claimsSpecialNames else { return match }
        return query.question.name.isEqualOrBelow(.ipv4only) ? nil : match
    }

    /// Completes the answer to `query` with synthesized addresses, if its name needs them.
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
            // The answer for clients that validate must not hide the synthesized one.
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
        let signal = pending.cancellation
        guard clocks.now() < pending.deadline, !signal.isCancelled else {
            return completion(found)
        }
        let payer = signal.client as? ClientNetwork
        let synthesize = completion.after {
            [origins, found] (answer: Resolution, completion) in
            var found = found
            found.synthesize(from: answer, query, prefix, origins, pending.trace)
            completion(found)
        }
        guard let resolver else { return ask(addresses, for: pending, pending.match, synthesize) }
        resolver.resolveAddresses(
            addresses,
            payer: payer,
            deadline: pending.deadline,
            synthesize
        )
    }

    /// Resolves a query of DNS64 itself, without cache lookup and deduplication.
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
                PendingQuery.Key(query),
                match,
                payer: pending.cancellation.client as? ClientNetwork,
                now: clocks.now(),
                deadline: pending.deadline,
                answered
            )
        )
    }

    /// Replaces the AAAA NODATA that came with A records.
    ///
    /// Clients with DO get the NODATA, the others the synthesized answer; so none of them needs
    /// another call.
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

    /// Removes IPv4-mapped addresses: they are not reachable over IPv6 (RFC 6147 §5.1.4).
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
    /// Returns the IPv4 name of a PTR query for a synthesized address (RFC 6147 §5.3.1).
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

    /// True if the special names do not apply: the prefix can be a private one.
    func translates(_ question: Question) -> Bool { pointerTarget(of: question) != nil }

    /// Answers with an alias to the IPv4 name, and its records.
    func pointer(
        _ pending: PendingQuery,
        _ target: Name,
        _ completion: consuming Completion<ResolvedAnswer>
    ) {
        let query = pending.query
        let question = Question(name: target, type: .ptr)
        let inner = Query(question: question, checkingDisabled: query.checkingDisabled)
        let alias = completion.after { [origins] (answer: Resolution, completion) in
            guard !answer.isFailure else { return completion(ResolvedAnswer(answer)) }
            let message = answer.sections.message(to: question)
            let ttls = (message?.answers ?? []) + (message?.authorities ?? [])
            let ttl = ttls.map(\.ttl).min() ?? ResolverLimits.failureLifetime
            let first = Record(name: query.question.name, ttl: ttl, data: .cname(target))
            var provenance = answer.provenance
            provenance.origin = origins.number(synthesizedFrom: provenance.origin)
            let resolution = try? Resolution(
                query.question,
                rcode: answer.rcode,
                answers: [first] + (message?.answers ?? []),
                authorities: message?.authorities ?? [],
                lifetime: ttl,
                variant: query.variant,
                explanation: .synthesized("PTR of the IPv4 address in a NAT64 address"),
                provenance: provenance
            )
            completion(
                ResolvedAnswer(
                    resolution ?? .failure(query, .other, "the answer does not fit a message")
                )
            )
        }
        guard let resolver else { return ask(inner, for: pending, nil, alias) }
        resolver.resolvePointer(inner, deadline: pending.deadline, alias)
    }
}

// MARK: - Records

extension ResolvedAnswer {
    /// Replaces the resolution, which has no AAAA records, by addresses made from A records.
    ///
    /// Without A records, their answer decides: NODATA, or a failure (RFC 6147 §5.1.6).
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
            resolution = addresses
        }
    }
}

extension Resolution {
    /// True if an AAAA answer without records lets DNS64 synthesize: NODATA and SERVFAIL, but not
    /// NXDOMAIN (RFC 6147 §5.1.2, §5.1.3).
    fileprivate func lacksAddresses(_ question: Question) -> Bool {
        guard !isRefused else { return false }
        guard rcode == .noError else { return isFailure }
        guard sections.answerCount > 0 else { return true }
        return !(sections.message(to: question)?.answers.contains { $0.type == .aaaa } ?? true)
    }

    /// Creates the AAAA answer from an A answer; nil if no address can be synthesized.
    ///
    /// The TTL is at most that of the negative answer's SOA, or 600 s without one (RFC 6147
    /// §5.1.7).
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
        let limit = denial.delegatedTTL(query.question) ?? ResolverLimits.synthesizedLifetime
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
        let lifetime = min(addresses.lifetime, limit, records.map(\.ttl).min() ?? 0)
        let made = try? Resolution(
            query.question,
            answers: records,
            lifetime: lifetime,
            variant: query.variant,
            explanation: .synthesized("AAAA from A by DNS64"),
            provenance: provenance
        )
        guard let made else { return nil }
        self = made
    }

    /// The TTL of the SOA in an upstream's negative answer; nil without one.
    private func delegatedTTL(_ question: Question) -> UInt32? {
        guard provenance.source == .upstream else { return nil }
        let authorities = sections.message(to: question)?.authorities
        return authorities?.first { $0.type == .soa }?.ttl
    }
}

extension Explanation {
    /// Explains a synthesized answer (RFC 8914, code 29).
    static func synthesized(_ text: String) -> Explanation {
        Explanation(code: .synthesized, text: text)
    }
}
