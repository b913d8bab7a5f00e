// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net
package import Upstream

/// Asks upstream resolvers and makes of their replies what a client may be told.
@ServiceLoop
package final class UpstreamStage {
    private let policy: TTLPolicy
    private let books: Bookkeeping
    private let clocks: Clocks
    private let aliases: AliasGroups

    /// The numbers of upstreams that answered, as `origins` has them by name.
    private var numbers: [ObjectIdentifier: (server: any Forwarding, number: UInt16)] = [:]

    /// How long upstreams' answers took, tries that failed included.
    package nonisolated var latency: LatencyHistogram { books.upstreamLatency }

    /// Returns the upstreams for the target of an alias; nil if the target is not asked for.
    typealias AliasGroups = @ServiceLoop (Question) -> UpstreamGroup?

    /// Makes the stage, which counts in `books`.
    init(
        policy: TTLPolicy,
        books: Bookkeeping,
        clocks: Clocks,
        aliases: @escaping AliasGroups
    ) {
        self.policy = policy
        self.books = books
        self.clocks = clocks
        self.aliases = aliases
    }

    /// What `ask` is to tell.
    typealias Tell = @ServiceLoop (Resolution) -> Void

    /// Tells the group's answer, or SERVFAIL with the reason for clients that understand it; once,
    /// perhaps before this returns.
    func ask(
        _ query: Query,
        through group: UpstreamGroup?,
        deadline: ContinuousClock.Instant,
        trace: Trace?,
        cancellation: CancellationSignal? = nil,
        _ tell: @escaping Tell
    ) {
        guard let group else {
            return tell(
                .failure(query, .noReachableAuthority, "no upstream is configured for this name")
            )
        }
        let start = clocks.now()
        let work = Work(
            query: query,
            deadline: deadline,
            trace: trace,
            cancellation: cancellation
        )
        forward(query.question, of: work, through: group) { [self] result in
            switch result {
            case .success(let reply):
                latency.note(clocks.now() - start)
                complete(
                    Answered(reply.message, reply.upstream, isBelieved: reply.upstream.validates),
                    work,
                    tell
                )
            case .failure(let error):
                tell(Self.failure(error, query))
            }
        }
    }

    /// A query with the bounds of all that is asked for it.
    private struct Work {
        let query: Query
        let deadline: ContinuousClock.Instant
        let trace: Trace?

        /// Ends the work early.
        let cancellation: CancellationSignal?
    }

    /// Asks a group for a question of the query: its own, or one for the target of an alias.
    private func forward(
        _ question: Question,
        of work: Work,
        through group: UpstreamGroup,
        _ tell: @escaping UpstreamGroup.Tell
    ) {
        guard !group.health.recognises(question) else { return tell(.failure(.loop)) }
        group.ask(
            ForwardedQuery(
                question: question,
                dnssecOK: work.query.dnssecOK,
                checkingDisabled: work.query.checkingDisabled,
                cancellation: work.cancellation
            ),
            deadline: work.deadline,
            trace: work.trace,
            tell
        )
    }

    // MARK: - Aliases

    /// The message that is known so far, and which upstream began it.
    private struct Answered {
        var message: Message
        let upstream: any Forwarding

        /// Whether all upstreams that had a part in it validate.
        var isBelieved: Bool

        init(_ message: Message, _ upstream: any Forwarding, isBelieved: Bool) {
            self.message = message
            self.upstream = upstream
            self.isBelieved = isBelieved
        }
    }

    /// Tells the answer, after asking for the target of an alias that the reply ends with.
    ///
    /// Each turn adds an alias to the chain, or is the last: at most `ResolverLimits.longestChain`.
    private func complete(
        _ answered: Answered,
        _ work: Work,
        _ tell: @escaping Tell
    ) {
        let query = work.query
        let chain = answered.message.aliasChain(from: query.question)
        guard chain.ending == .target else {
            return tell(.failure(query, .other, "the aliases lead in a circle or are too many"))
        }
        var question = query.question
        question.name = chain.end
        guard answered.message.lacksTarget(of: chain, query.question),
            let group = aliases(question)
        else { return tell(resolution(answered, query)) }
        work.trace?.note("the alias leads to \(chain.end), which upstreams are asked for")
        forward(question, of: work, through: group) { [self] result in
            switch result {
            case .success(let reply):
                var joined = answered
                joined.message.join(reply.message)
                joined.isBelieved = joined.isBelieved && reply.upstream.validates
                complete(joined, work, tell)
            case .failure(let error):
                tell(Self.failure(error, query))
            }
        }
    }

    /// What the upstreams' reply is to the query.
    private func resolution(_ answered: Answered, _ query: Query) -> Resolution {
        let provenance = Provenance(source: .upstream, origin: number(of: answered.upstream))
        return
            (try? Resolution(
                answered.message,
                to: query,
                policy,
                provenance,
                isBelieved: answered.isBelieved
            ))
            ?? .failure(query, .other, "the answer does not fit a message")
    }

    /// The number of an upstream that answered.
    private func number(of server: any Forwarding) -> UInt16 {
        if let known = numbers[ObjectIdentifier(server)] { return known.number }
        let number = books.origins.number(Self.origin(of: server))
        numbers[ObjectIdentifier(server)] = (server, number)
        return number
    }

    /// What a client is told of a failure.
    private static func failure(_ error: UpstreamError, _ query: Query) -> Resolution {
        switch error {
        case .unreachable:
            .failure(query, .networkError, "no upstream could be reached")
        case .untrusted:
            .failure(query, .networkError, "no upstream could be trusted")
        case .loop:
            .failure(query, .noReachableAuthority, "the upstreams ask this server")
        case .paused:
            .failure(query, .noReachableAuthority, "an operator has paused the upstreams")
        case .declined(_, because: let code?):
            .failure(query, code, "so says the upstream")
        case .exhausted:
            .failure(query, .other, "too many queries are under way")
        case .timedOut, .declined, .broken:
            .failure(query, .noReachableAuthority, "no upstream answered")
        }
    }

    /// What `Origins` calls a server.
    package nonisolated static func origin(of server: any Forwarding) -> String {
        "\(server.name)/\(server.url)"
    }
}
