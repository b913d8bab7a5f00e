// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
package import Net

/// The stage that keeps answers for the next one who asks; nobody else writes to the cache.
package final class Storing: Resolving {
    private let freshness: Freshness
    private let cache: AnswerCache
    private let clocks: Clocks
    private let next: any Resolving

    /// Networks that were left so far.
    private var networksLeft: UInt64 = 0

    /// Puts this stage before `next`.
    package init(
        _ freshness: Freshness,
        cache: AnswerCache,
        clocks: Clocks,
        next: any Resolving
    ) {
        self.freshness = freshness
        self.cache = cache
        self.clocks = clocks
        self.next = next
    }

    /// From now on failures under way are those of a network that is left behind.
    func networkChanged() { networksLeft += 1 }

    package func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        let before = networksLeft
        let finding = await next.resolve(query, match, deadline: deadline)
        if !finding.resolution.isFailure || before == networksLeft {
            keep(finding.resolution, for: query.question, match)
        }
        for sibling in finding.siblings { keep(sibling.resolution, for: sibling.question, match) }
        return finding
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
