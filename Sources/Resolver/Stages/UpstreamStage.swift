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

    /// The numbers of upstreams that answered, as `origins` has them by name.
    private var numbers: [ObjectIdentifier: (server: any Forwarding, number: UInt16)] = [:]

    /// How long upstreams' answers took, tries that failed included.
    package nonisolated var latency: LatencyHistogram { books.upstreamLatency }

    /// Makes the stage, which counts in `books`.
    package init(policy: TTLPolicy, books: Bookkeeping, clocks: Clocks) {
        self.policy = policy
        self.books = books
        self.clocks = clocks
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
        _ tell: @escaping Tell
    ) {
        guard let group else {
            return tell(
                .failure(query, .noReachableAuthority, "no upstream is configured for this name")
            )
        }
        guard !group.health.recognises(query.question) else {
            return tell(.failure(query, .other, "what this server asked came back to it"))
        }
        let start = clocks.now()
        group.ask(
            ForwardedQuery(
                question: query.question,
                dnssecOK: query.dnssecOK,
                checkingDisabled: query.checkingDisabled
            ),
            deadline: deadline,
            trace: trace
        ) { [self] result in
            switch result {
            case .success(let reply):
                latency.note(clocks.now() - start)
                tell(resolution(reply, query))
            case .failure(let error):
                tell(Self.failure(error, query))
            }
        }
    }

    /// What an upstream's reply is to the query.
    private func resolution(_ reply: UpstreamGroup.Reply, _ query: Query) -> Resolution {
        let provenance = Provenance(source: .upstream, origin: number(of: reply.upstream))
        return
            (try? Resolution(
                reply.message,
                to: query,
                policy,
                provenance,
                isBelieved: reply.upstream.validates
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
        case .declined(_, because: let code?):
            .failure(query, code, "so says the upstream")
        case .timedOut, .declined, .broken:
            .failure(query, .noReachableAuthority, "no upstream answered")
        }
    }

    /// What `Origins` calls a server.
    package nonisolated static func origin(of server: any Forwarding) -> String {
        "\(server.name)/\(server.url)"
    }
}
