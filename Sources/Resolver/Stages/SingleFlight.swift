// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net

/// Query deduplication: clients with equal queries wait for one result.
///
/// Work behind this stage is done once for all clients, has its own deadline, and continues when
/// clients stop waiting.
///
/// Deduplication also prevents a forger from multiplying the outstanding queries for one name (RFC
/// 5452 §5).
@ServiceLoop
package final class SingleFlight {
    private let sharedResolution: SharedResolution
    private let inFlight: InFlight<Query, ResolvedAnswer>

    private let statistics: ResolverStatistics

    /// Number of queries answered by work that another query had started.
    package var merged: UInt64 { statistics.merged }

    /// Number of these queries by origin, as numbered in `AnswerSourceRegistry`.
    package var mergedByOrigin: [UInt16: UInt64] { statistics.mergedByOrigin }

    init(_ sharedResolution: SharedResolution, statistics: ResolverStatistics, clocks: Clocks) {
        self.sharedResolution = sharedResolution
        self.statistics = statistics
        inFlight = InFlight(
            clocks,
            work: ResolverLimits.inFlight,
            waiting: ResolverLimits.waiting,
            // Longer than `work`, so that the work can report the reason of its failure.
            limit: ResolverLimits.total,
            judge: { answer in
                let resolution = answer.resolution
                if resolution.hasLostAttempt { return .lost }
                return resolution.provenance.source == .local && !resolution.isFailure
                    ? nil : .answered
            }
        )
    }

    /// Number of queries answered by upstreams before the vendors (`fallback-after`).
    package var earlyFallbacks: UInt64 { statistics.earlyFallbacks }

    /// Number of queries answered with SERVFAIL because they were evicted or refused.
    package var evicted: UInt64 { statistics.evicted }

    /// Returns the start time of the work for `query`; nil if none is in flight.
    func began(_ query: Query) -> Instant? { inFlight.began(query) }

    func isAsking(_ query: Query) -> Bool { began(query) != nil }

    /// Resolves `query`, and calls `completion` exactly once, at the latest at `deadline` with SERVFAIL.
    ///
    /// - Parameters:
    ///   - client: the client that waits; nil for the daemon itself.
    ///   - payer: the client to which vendor calls are charged; nil for `client`.
    func ask(
        _ query: Query,
        _ match: RouteTable.Match?,
        for client: ClientNetwork?,
        payer: ClientNetwork? = nil,
        now: Instant,
        deadline: Instant,
        _ completion: @escaping SharedResolution.Completion
    ) {
        let joins = inFlight.join(
            query,
            for: client,
            payer: payer,
            now: now,
            until: deadline
        ) { [self] outcome in
            switch outcome {
            case .late:
                completion(ResolvedAnswer(.late))
            case .evicted:
                statistics.evicted += 1
                completion(ResolvedAnswer(.evicted))
            case .refused:
                statistics.evicted += 1
                completion(ResolvedAnswer(.refused))
            case .value(var finding, let wasMerged):
                if wasMerged {
                    statistics.merged += 1
                    statistics.mergedByOrigin[finding.resolution.provenance.origin, default: 0] += 1
                    finding.resolution.provenance.wasMerged = true
                }
                if finding.resolution.provenance.fallback == .early {
                    statistics.earlyFallbacks += 1
                }
                completion(finding)
            }
        } _: { signal, end in
            sharedResolution.begin(
                query,
                match,
                deadline: now + ResolverLimits.work,
                cancellation: signal,
                end
            )
        }
        if joins, let client { sharedResolution.join(query, match, of: client) }
    }
}

extension Resolution {
    /// SERVFAIL at a client's deadline; not cached.
    fileprivate static let late = Resolution(
        rcode: .servFail,
        explanation: Explanation(code: .noReachableAuthority, text: "no answer in time"),
        provenance: .local
    )
}
