// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Keeps answers for the next one who asks; nobody else writes to the cache.
@ServiceLoop
final class Storing {
    private let freshness: Freshness
    private let cache: AnswerCache
    private let clocks: Clocks

    /// Networks that were left so far.
    private(set) var networksLeft: UInt64 = 0

    /// Makes one that keeps answers in `cache`.
    init(_ freshness: Freshness, cache: AnswerCache, clocks: Clocks) {
        self.freshness = freshness
        self.cache = cache
        self.clocks = clocks
    }

    /// From now on failures under way are those of a network that is left behind.
    func networkChanged() { networksLeft += 1 }

    /// Keeps what was found out.
    ///
    /// - Parameter before: how many networks had been left when it was asked for.
    func keep(
        _ finding: Finding,
        _ query: Query,
        _ match: RouteTable.Match?,
        networksLeftBefore before: UInt64
    ) {
        if !finding.resolution.isFailure || before == networksLeft {
            keep(finding.resolution, for: query.question, match)
        }
        for sibling in finding.siblings { keep(sibling.resolution, for: sibling.question, match) }
    }

    /// Keeps an answer for as long as it says; one with a lifetime of zero not at all.
    private func keep(
        _ resolution: Resolution,
        for question: Question,
        _ match: RouteTable.Match?
    ) {
        guard resolution.lifetime > 0 else { return }
        var answer = CachedAnswer(
            question: question,
            variant: resolution.variant,
            rcode: resolution.rcode,
            sections: resolution.sections,
            lifetime: resolution.lifetime,
            source: resolution.provenance.source,
            server: resolution.provenance.origin
        )
        answer.isAuthentic = resolution.isAuthentic
        answer.options = resolution.explanation?.option ?? []
        if resolution.isFailure {
            answer.options = Explanation.fromCache.option + answer.options
        } else {
            if match?.route.servesStale ?? true {
                answer.staleWindow = freshness.stale?.window ?? 0
            }
            answer.refreshAfter = freshness.prefetch?.due(resolution.lifetime) ?? 0
        }
        cache.insert(answer, now: clocks.now())
    }
}

extension Explanation {
    /// That a failure is one that is remembered (RFC 8914 §4.14).
    fileprivate static let fromCache = Explanation(code: .cachedError, text: "")
}
