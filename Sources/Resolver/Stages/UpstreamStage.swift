// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net
package import Upstream

/// Stage that queries upstreams, and converts their replies to resolutions.
@ServiceLoop
package final class UpstreamStage {
    private let policy: TTLPolicy
    private let statistics: ResolverStatistics
    private let clocks: Clocks
    private let aliases: AliasGroups

    private(set) var numbers: [ObjectIdentifier: (server: any Forwarding, number: UInt16)] = [:]

    /// Server of the last answer, and its number.
    ///
    /// Most answers are from one server, so this variable avoids most lookups in ``numbers``.
    private var latest: (server: any Forwarding, number: UInt16)?

    /// Upstreams for the target of an alias.
    enum AliasGroup {
        case none

        case group(UpstreamGroup?)
    }

    typealias AliasGroups = @ServiceLoop (Question) -> AliasGroup

    init(
        policy: TTLPolicy,
        statistics: ResolverStatistics,
        clocks: Clocks,
        aliases: @escaping AliasGroups
    ) {
        self.policy = policy
        self.statistics = statistics
        self.clocks = clocks
        self.aliases = aliases
    }

    /// Queries `group`; the caller calls this function at most once for each query.
    func ask(
        _ query: PendingQuery,
        through group: UpstreamGroup?,
        now: Instant,
        _ completion: consuming Completion<Resolution>
    ) {
        guard let group else {
            return completion(
                .failure(
                    query.query,
                    .noReachableAuthority,
                    "no upstream is configured for this name"
                )
            )
        }
        query.wait(forUpstreams: completion, since: now)
        query.firstGroup = group
        begin(query, through: group, now: now)
    }

    private func begin(_ query: PendingQuery, through group: UpstreamGroup, now: Instant) {
        // Captures only one object, and therefore needs no allocation.
        let answered = Completion<UpstreamGroup.Outcome> {
            query.resolution?.upstreams.received($0, query)
        }
        forward(query.query, of: query, through: group, now: now, answered)
    }

    private func received(_ outcome: UpstreamGroup.Outcome, _ query: PendingQuery) {
        switch outcome {
        case .success(let reply):
            statistics.upstreamLatency.note(reply.received - query.upstreamsAsked)
            note(reply, query)
            let isBelieved = reply.upstream.validates
            switch reply.answer {
            case .plain(let plain):
                let resolution = Resolution(
                    plain,
                    to: query.query,
                    policy.of(query.match),
                    provenance(of: reply.upstream),
                    isBelieved: isBelieved
                )
                answer(query, resolution)
            case .message(let message):
                let provenance = provenance(of: reply.upstream)
                complete(Answered(message, reply.upstream, provenance, isBelieved), query)
            }
        case .failure(let error):
            fail(query, error)
        }
    }

    /// Ends the query with `error`, or with an error that replaces `error`.
    ///
    /// - `aliases` replaces `error` if another upstream has returned a CNAME chain that loops or is
    ///   too long. It does not replace `withdrawn`, `noServer` and the errors for a limit of this
    ///   machine.
    /// - `paused` replaces `error` if `error` is a sign of an outage, an upstream is paused, and no
    ///   upstream is in service.
    private func fail(_ query: PendingQuery, _ error: UpstreamError) {
        let isOfServer =
            switch error {
            case .crowded, .clientCrowded, .exhausted, .withdrawn, .noServer: false
            default: true
            }
        let isChain = isOfServer && !query.avoided.isEmpty
        let isOfPause =
            switch error {
            case .unreachable, .untrusted, .timedOut, .broken: query.group?.pauseOutage != nil
            default: false
            }
        let cause: UpstreamError = isChain ? .aliases : isOfPause ? .paused : error
        var failure = Self.failure(cause, query.query)
        failure.isUnanswered = error == .timedOut
        failure.lacksRepetition = isOfServer && cause.isRepeatable && query.lacksRepetitions
        if failure.lacksRepetition { failure.lifetime = 0 }
        query.upstreamsAnswered(failure)
    }

    private func note(_ reply: UpstreamGroup.Reply, _ pending: PendingQuery) {
        if reply.wasRepeated { pending.wasRepeated = true }
        if !reply.upstream.isProtected, pending.group?.isEncrypted == true {
            pending.isSubstitute = true
        }
    }

    private func answer(_ pending: PendingQuery, _ resolution: consuming Resolution) {
        if pending.isSubstitute {
            resolution.becomeSubstitute(
                for: ResolverLimits.substituteLifetime,
                pending.query.question
            )
        }
        pending.upstreamsAnswered(resolution)
    }

    private func forward(
        _ query: Query,
        of pending: PendingQuery,
        through group: UpstreamGroup,
        now: Instant,
        _ completion: consuming Completion<UpstreamGroup.Outcome>
    ) {
        guard !group.health.recognises(query.question) else { return completion(.failure(.loop)) }
        pending.group = group
        group.ask(
            query,
            deadline: pending.deadline,
            load: pending.load,
            avoiding: pending.avoided,
            cancellation: pending,
            trace: pending.trace,
            now: now,
            completion
        )
    }

    // MARK: - Aliases

    private struct Answered {
        var message: Message
        let upstream: any Forwarding

        /// Source of the answer, with the number of the upstream.
        ///
        /// The source is stored when the first reply arrives. While the target of an alias is
        /// queried, ``forget(_:)`` may remove the upstream; a later lookup of the number would add
        /// the upstream again.
        let provenance: Provenance

        var others: [any Forwarding] = []

        var isBelieved: Bool

        init(
            _ message: Message,
            _ upstream: any Forwarding,
            _ provenance: Provenance,
            _ isBelieved: Bool
        ) {
            self.message = message
            self.upstream = upstream
            self.provenance = provenance
            self.isBelieved = isBelieved
        }
    }

    /// Queries the target of an alias at the end of the reply, each target once.
    ///
    /// If the reply for the target has neither records of the queried type nor an SOA, it is NODATA
    /// (RFC 2308 §2.2).
    private func complete(
        _ answered: Answered,
        _ pending: PendingQuery,
        queried: Name? = nil
    ) {
        let query = pending.query
        let chain = answered.message.aliasChain(from: query.question)
        guard chain.ending == .target else {
            return askOthers(pending, than: answered, or: Self.failure(.aliases, query))
        }
        var target = query
        target.question.name = chain.end
        guard chain.end != queried, answered.message.lacksTarget(of: chain, query.question),
            case .group(let group) = aliases(target.question)
        else { return answer(pending, resolution(answered, pending)) }
        guard let group else {
            return pending.upstreamsAnswered(
                .failure(
                    query,
                    .noReachableAuthority,
                    "no upstream is configured for the alias target \(chain.end)"
                )
            )
        }
        guard let alias = PendingAlias(answered, chain, query) else {
            return askOthers(
                pending,
                than: answered,
                or: .failure(query, .other, "the CNAME chain of the answer is too large")
            )
        }
        pending.trace?.note("querying upstreams for the alias target \(chain.end)")
        let completion = Completion<UpstreamGroup.Outcome> { [self, target] result in
            switch result {
            case .success(let reply):
                note(reply, pending)
                let joined = alias.joined(with: reply, to: target.question, query)
                complete(joined, pending, queried: target.question.name)
            case .failure(let error):
                fail(pending, error)
            }
        }
        forward(target, of: pending, through: group, now: clocks.now(), completion)
    }

    /// Queries other upstreams after a CNAME chain that loops or is too long.
    ///
    /// The function does this only once per query, so that one query causes at most
    /// 2 × (1 + `UpstreamLimits.longestChain`) calls of `forward`.
    private func askOthers(
        _ pending: PendingQuery,
        than answered: Answered,
        or failure: @autoclosure () -> Resolution
    ) {
        let servers = [answered.upstream] + answered.others
        guard pending.avoided.isEmpty, let first = pending.firstGroup,
            first.hasServer(besides: servers) || pending.group?.hasServer(besides: servers) ?? false
        else { return pending.upstreamsAnswered(failure()) }
        pending.avoided = servers
        pending.trace?.note("endless chain of aliases; querying other upstreams")
        begin(pending, through: first, now: clocks.now())
    }

    /// CNAME chain of a reply, stored while the target of the chain is queried; the rest of the
    /// reply is not stored.
    private struct PendingAlias {
        private let records: AnswerSections
        private let isAuthentic: Bool
        private let upstream: any Forwarding
        private let provenance: Provenance
        private let others: [any Forwarding]
        private let isBelieved: Bool

        init?(_ answered: Answered, _ chain: AliasChain, _ query: Query) {
            let answers = answered.message.records(of: chain, for: query)
            guard let records = try? AnswerSections(question: query.question, answers: answers),
                records.octets.count <= ResolverLimits.chainOctets
            else { return nil }
            self.records = records
            isAuthentic = answered.message.header.authenticData
            upstream = answered.upstream
            provenance = answered.provenance
            others = answered.others
            isBelieved = answered.isBelieved
        }

        func joined(
            with reply: UpstreamGroup.Reply,
            to target: Question,
            _ query: Query
        ) -> Answered {
            var message = records.message(to: query.question) ?? Message()
            message.header.authenticData = isAuthentic
            message.join(reply.answer.message(to: target))
            var answered = Answered(
                message,
                upstream,
                provenance,
                isBelieved && reply.upstream.validates
            )
            answered.others = others + [reply.upstream]
            return answered
        }
    }

    private func resolution(_ answered: Answered, _ pending: PendingQuery) -> Resolution {
        (try? Resolution(
            answered.message,
            to: pending.query,
            policy.of(pending.match),
            answered.provenance,
            isBelieved: answered.isBelieved
        ))
            ?? .failure(pending.query, .other, "the answer is too large for a DNS message")
    }

    private func provenance(of server: any Forwarding) -> Provenance {
        Provenance(source: .upstream, origin: number(of: server))
    }

    private func number(of server: any Forwarding) -> UInt16 {
        if let latest, latest.server === server { return latest.number }
        let known = numbers[ObjectIdentifier(server)]
        let found = known ?? (server, statistics.origins.number(Self.origin(of: server)))
        if known == nil { numbers[ObjectIdentifier(server)] = found }
        latest = found
        return found.number
    }

    func forget(_ servers: [any Forwarding]) {
        latest = nil
        for server in servers { numbers[ObjectIdentifier(server)] = nil }
    }

    private static func failure(_ error: UpstreamError, _ query: Query) -> Resolution {
        switch error {
        case .unreachable:
            .failure(query, .networkError, "no upstream could be reached")
        case .untrusted:
            .failure(query, .networkError, "no upstream could be authenticated by TLS")
        case .loop:
            .failure(
                query,
                .noReachableAuthority,
                "the upstreams forward queries back to this server"
            )
        case .paused:
            .failure(
                query,
                .noReachableAuthority,
                "an operator has paused upstreams, and none is left"
            )
        case .declined(_, because: let code?):
            .failure(query, code, "error reported by the upstream")
        case .aliases:
            .failure(query, .other, "CNAME loop, or too many CNAME records")
        case .exhausted, .crowded, .clientCrowded:
            .exhausted(query, error)
        case .withdrawn, .noServer:
            .absent(query, "\(error)")
        case .declined, .rateLimited, .httpStatus:
            .failure(query, .noReachableAuthority, "the upstream \(error)")
        case .timedOut, .broken:
            .failure(query, .noReachableAuthority, "no upstream answered")
        }
    }

    /// Name of a server for `AnswerSourceRegistry`.
    package nonisolated static func origin(of server: any Forwarding) -> String {
        "\(server.name)/\(server.url)"
    }
}

extension Resolution {
    /// SERVFAIL while the network has no server; not cached, because a server usually appears
    /// within seconds.
    fileprivate static func absent(_ query: Query, _ text: String) -> Resolution {
        var failure = Resolution.failure(query, .networkError, text)
        failure.lifetime = 0
        return failure
    }

    /// SERVFAIL after a limit was reached; not cached, because other clients may get an answer.
    fileprivate static func exhausted(_ query: Query, _ error: UpstreamError) -> Resolution {
        var failure = Resolution.failure(query, .other, "too many queries in flight")
        failure.lifetime = 0
        failure.isCrowded = error.isCrowded
        failure.isClientCrowded = error == .clientCrowded
        return failure
    }
}
