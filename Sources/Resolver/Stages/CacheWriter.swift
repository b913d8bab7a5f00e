// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Writer of answers to the cache; no other stage of the resolver adds entries.
@ServiceLoop
final class CacheWriter {
    private let freshness: Freshness
    private let cache: AnswerCache
    private let routes: ActiveRoutes
    private let snapshotWaiters: SnapshotWaiters
    private let clocks: Clocks

    private(set) var networksLeft: UInt64 = 0

    /// Weak, because a strong reference would keep the settings of all later reloads in memory.
    private weak var successor: CacheWriter?

    private var succession: ReloadInvalidation?

    init(
        _ freshness: Freshness,
        cache: AnswerCache,
        routes: ActiveRoutes,
        snapshotWaiters: SnapshotWaiters,
        clocks: Clocks
    ) {
        self.freshness = freshness
        self.cache = cache
        self.routes = routes
        self.snapshotWaiters = snapshotWaiters
        self.clocks = clocks
    }

    var generation: Int { routes.generation }

    private func isRouteFormer(_ query: PendingQuery) -> Bool {
        query.generation != generation
            && routes.route(for: query.query.question.name) !== query.match
    }

    /// After this call, failures of queries in flight are not cached.
    func networkChanged() { networksLeft += 1 }

    /// Makes `cacheWriter` the successor of this writer at a reload.
    ///
    /// Queries in flight continue to use this writer. After this call, this writer caches only
    /// answers that are valid under the new settings.
    func retire(for cacheWriter: CacheWriter, _ succession: ReloadInvalidation) {
        successor = cacheWriter
        self.succession = succession
    }

    private func isRight(_ resolution: Resolution, _ question: Question) -> Bool {
        let provenance = resolution.provenance
        var cacheWriter = self
        while let succession = cacheWriter.succession {
            // Without `successor`, the settings of later reloads are unknown, so the answer counts
            // as invalid.
            guard succession.keeps(question, provenance.source, provenance.origin),
                let next = cacheWriter.successor
            else { return false }
            cacheWriter = next
        }
        return true
    }

    func keep(_ answer: ResolvedAnswer, _ query: PendingQuery) {
        guard !isRouteFormer(query) else {
            query.trace?.note("not cached: the routes of the network have changed")
            return
        }
        if answer.resolution.isFailure {
            if query.networksLeft == networksLeft, snapshotWaiters.cachesFailures {
                keep(answer.resolution, of: query)
            }
        } else {
            keep(answer.resolution, of: query)
        }
        for sibling in answer.siblings {
            keep(sibling.resolution, of: query, sibling: sibling.question)
        }
    }

    private func keep(
        _ resolution: Resolution,
        of query: PendingQuery,
        sibling: Question? = nil
    ) {
        let question = sibling ?? query.query.question
        let (match, trace) = (query.match, query.trace)
        // In the cache, YXDOMAIN would count as a failure. Clients could then get a stale answer.
        guard resolution.lifetime > 0, resolution.rcode != .yxDomain,
            match?.route.options.isCached ?? true, isRight(resolution, question)
        else {
            trace?.note(
                """
                not cached: \(question.name) \(question.type): TTL 0, YXDOMAIN, captive portal, or \
                a reload
                """
            )
            return
        }
        if resolution.isSubstitute,
            cache.freshAnswer(for: question, variant: resolution.variant, now: clocks.now()) != nil
        {
            trace?.note("not cached: the cached answer is from a better source")
            return
        }
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
        } else if !resolution.isSubstitute {
            // A substitute must not be used for long.
            if match?.route.servesStale ?? true {
                answer.staleWindow = freshness.stale?.window ?? 0
            }
            if match?.route.options.isPrefetched ?? true {
                answer.refreshAfter = freshness.prefetch?.due(resolution.lifetime) ?? 0
            }
        }
        let hash = sibling == nil && query.hash != 0 ? query.hash : nil
        cache.insert(answer, hash: hash, now: clocks.now())
        trace?.note(
            "cached \(question.name) \(question.type) for \(resolution.lifetime) s"
        )
    }
}

extension Explanation {
    fileprivate static let fromCache = Explanation(code: .cachedError, text: "")
}
