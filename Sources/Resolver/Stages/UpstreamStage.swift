// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net
package import Upstream

/// Queries upstream resolvers, and converts their replies to resolutions.
@ServiceLoop
package final class UpstreamStage {
    private let policy: TTLPolicy
    private let statistics: ResolverStatistics
    private let clocks: Clocks
    private let aliases: AliasGroups

    /// Number in `origins` of each upstream that has answered.
    private var numbers: [ObjectIdentifier: (server: any Forwarding, number: UInt16)] = [:]

    /// Latency of upstreams' answers, including failed attempts.
    package nonisolated var latency: LatencyHistogram { statistics.upstreamLatency }

    /// Returns the upstreams for the target of an alias; nil if the target is not queried.
    typealias AliasGroups = @ServiceLoop (Question) -> UpstreamGroup?

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

    typealias Completion = @ServiceLoop (Resolution) -> Void

    /// Queries the group, and calls `completion` exactly once, with its answer or with SERVFAIL and an
    /// EDE.
    ///
    /// `completion` may be called before this function returns.
    ///
    /// - Parameter match: the route of the name, for its TTL bounds.
    func ask(
        _ query: Query,
        _ match: RouteTable.Match?,
        through group: UpstreamGroup?,
        deadline: Instant,
        trace: Trace?,
        cancellation: CancellationSignal? = nil,
        _ completion: @escaping Completion
    ) {
        guard let group else {
            return completion(
                .failure(query, .noReachableAuthority, "no upstream is configured for this name")
            )
        }
        let start = clocks.now()
        let work = Work(
            query: query,
            policy: policy.of(match),
            deadline: deadline,
            trace: trace,
            cancellation: cancellation
        )
        forward(query.question, of: work, through: group) { [self] result in
            switch result {
            case .success(let reply):
                latency.note(clocks.now() - start)
                let isBelieved = reply.upstream.validates
                switch reply.answer {
                case .plain(let plain):
                    let provenance = provenance(of: reply.upstream)
                    var resolution = Resolution(
                        plain,
                        to: query,
                        work.policy,
                        provenance,
                        isBelieved: isBelieved
                    )
                    resolution.hasLostAttempt = reply.isOfRepetition
                    completion(resolution)
                case .message(let message):
                    let answered = Answered(message, reply.upstream, isBelieved: isBelieved)
                    complete(answered, work, completion)
                }
            case .failure(let error):
                completion(Self.failure(error, query))
            }
        }
    }

    /// A query and the limits of its work.
    private struct Work {
        let query: Query
        let policy: TTLPolicy
        let deadline: Instant
        let trace: Trace?

        let cancellation: CancellationSignal?
    }

    /// Sends a question to a group: the question of the query, or one for the target of an alias.
    private func forward(
        _ question: Question,
        of work: Work,
        through group: UpstreamGroup,
        _ completion: @escaping UpstreamGroup.Completion
    ) {
        guard !group.health.recognises(question) else { return completion(.failure(.loop)) }
        group.ask(
            ForwardedQuery(
                question: question,
                dnssecOK: work.query.dnssecOK,
                checkingDisabled: work.query.checkingDisabled,
                cancellation: work.cancellation
            ),
            deadline: work.deadline,
            trace: work.trace,
            completion
        )
    }

    // MARK: - Aliases

    /// The reply so far, and the upstream that sent its first part.
    private struct Answered {
        var message: Message
        let upstream: any Forwarding

        /// True if all upstreams that contributed validate DNSSEC.
        var isBelieved: Bool

        init(_ message: Message, _ upstream: any Forwarding, isBelieved: Bool) {
            self.message = message
            self.upstream = upstream
            self.isBelieved = isBelieved
        }
    }

    /// Completes the answer: queries the target if the reply ends with an alias.
    ///
    /// A target is queried once: without records of the type and without an SOA, its reply is NODATA
    /// (RFC 2308 §2.2). So each recursion adds an alias or is the last, and there are at most
    /// `ResolverLimits.longestChain`.
    ///
    /// - Parameter queried: the target that was queried last.
    private func complete(
        _ answered: Answered,
        _ work: Work,
        queried: Name? = nil,
        _ completion: @escaping Completion
    ) {
        let query = work.query
        let chain = answered.message.aliasChain(from: query.question)
        guard chain.ending == .target else {
            return completion(.failure(query, .other, "CNAME loop, or too many CNAME records"))
        }
        var target = query.question
        target.name = chain.end
        guard chain.end != queried, answered.message.lacksTarget(of: chain, query.question),
            let group = aliases(target)
        else { return completion(resolution(answered, work)) }
        guard let pending = PendingAlias(answered, chain, query) else {
            return completion(.failure(query, .other, "too many records with the CNAME records"))
        }
        work.trace?.note("querying upstreams for the alias target \(chain.end)")
        forward(target, of: work, through: group) { [self, target] result in
            switch result {
            case .success(let reply):
                let joined = pending.joined(with: reply, to: target, query)
                complete(joined, work, queried: target.name, completion)
            case .failure(let error):
                completion(Self.failure(error, query))
            }
        }
    }

    /// The chain of a reply while the target of its last alias is queried.
    ///
    /// A server can make the query for the target last seconds, so only the records of the chain
    /// are kept, in wire form and within ``ResolverLimits/chainOctets``.
    private struct PendingAlias {
        private let records: AnswerSections
        private let isAuthentic: Bool
        private let upstream: any Forwarding
        private let isBelieved: Bool

        /// Keeps the chain of a reply; nil if its records exceed the limit.
        init?(_ answered: Answered, _ chain: AliasChain, _ query: Query) {
            let answers = answered.message.records(of: chain, for: query)
            guard let records = try? AnswerSections(question: query.question, answers: answers),
                records.octets.count <= ResolverLimits.chainOctets
            else { return nil }
            self.records = records
            isAuthentic = answered.message.header.authenticData
            upstream = answered.upstream
            isBelieved = answered.isBelieved
        }

        /// Returns the chain followed by the reply to `target`, the question for its end.
        func joined(
            with reply: UpstreamGroup.Reply,
            to target: Question,
            _ query: Query
        ) -> Answered {
            var message = records.message(to: query.question) ?? Message()
            message.header.authenticData = isAuthentic
            message.join(reply.answer.message(to: target))
            return Answered(
                message,
                upstream,
                isBelieved: isBelieved && reply.upstream.validates
            )
        }
    }

    private func resolution(_ answered: Answered, _ work: Work) -> Resolution {
        (try? Resolution(
            answered.message,
            to: work.query,
            work.policy,
            provenance(of: answered.upstream),
            isBelieved: answered.isBelieved
        ))
            ?? .failure(work.query, .other, "the answer does not fit a message")
    }

    private func provenance(of server: any Forwarding) -> Provenance {
        Provenance(source: .upstream, origin: number(of: server))
    }

    private func number(of server: any Forwarding) -> UInt16 {
        if let known = numbers[ObjectIdentifier(server)] { return known.number }
        let number = statistics.origins.number(Self.origin(of: server))
        numbers[ObjectIdentifier(server)] = (server, number)
        return number
    }

    /// Converts an error to SERVFAIL with an extended error.
    private static func failure(_ error: UpstreamError, _ query: Query) -> Resolution {
        switch error {
        case .unreachable:
            .failure(query, .networkError, "no upstream could be reached")
        case .untrusted:
            .failure(query, .networkError, "no upstream could be trusted")
        case .loop:
            .failure(query, .noReachableAuthority, "the upstreams forward to this server")
        case .paused:
            .failure(query, .noReachableAuthority, "an operator has paused the upstreams")
        case .declined(_, because: let code?):
            .failure(query, code, "reported by the upstream")
        case .exhausted:
            .exhausted(query)
        case .timedOut, .declined, .rateLimited, .broken:
            .failure(
                query,
                .noReachableAuthority,
                "no upstream answered",
                isUnanswered: error == .timedOut
            )
        }
    }

    /// Returns the name of a server in `AnswerSourceRegistry`.
    package nonisolated static func origin(of server: any Forwarding) -> String {
        "\(server.name)/\(server.url)"
    }
}

extension Resolution {
    /// SERVFAIL for a query beyond a limit of queries in flight.
    ///
    /// Not cached: a client that has reached its limit must not cause failures for other clients.
    fileprivate static func exhausted(_ query: Query) -> Resolution {
        var failure = Resolution.failure(query, .other, "too many queries in flight")
        failure.lifetime = 0
        return failure
    }
}
