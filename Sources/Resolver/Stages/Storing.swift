// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Keeps answers for the next one who asks; nobody else writes to the cache.
@ServiceLoop
final class Storing {
    private let freshness: Freshness
    private let cache: AnswerCache
    private let restoring: Restoring
    private let clocks: Clocks

    /// Networks that were left so far.
    private(set) var networksLeft: UInt64 = 0

    /// What keeps answers under the settings that came after these, and which of ours are right
    /// under them; nil while these are in force.
    private var successor: (storing: Storing, succession: Succession)?

    /// Makes one that keeps answers in `cache`.
    init(_ freshness: Freshness, cache: AnswerCache, restoring: Restoring, clocks: Clocks) {
        self.freshness = freshness
        self.cache = cache
        self.restoring = restoring
        self.clocks = clocks
    }

    /// From now on failures under way are those of a network that is left behind.
    func networkChanged() { networksLeft += 1 }

    /// Other settings are in force: what was asked under these is kept only as far as it is right.
    func retire(for storing: Storing, _ succession: Succession) {
        successor = (storing, succession)
    }

    /// Whether an answer is right under the settings that are in force by now.
    private func isRight(_ resolution: Resolution, _ question: Question) -> Bool {
        var next = successor
        while let (storing, succession) = next {
            let provenance = resolution.provenance
            guard succession.keeps(question, provenance.source, provenance.origin) else {
                return false
            }
            next = storing.successor
        }
        return true
    }

    /// Keeps what was found out.
    ///
    /// - Parameter before: how many networks had been left when it was asked for.
    func keep(
        _ finding: Finding,
        _ query: Query,
        _ match: RouteTable.Match?,
        networksLeftBefore before: UInt64,
        trace: Trace?
    ) {
        // A failure that is cached would be answered before the snapshot is loaded.
        let keepsFailure = before == networksLeft && restoring.cachesFailures
        if !finding.resolution.isFailure || keepsFailure {
            keep(finding.resolution, for: query.question, match, trace)
        }
        for sibling in finding.siblings {
            keep(sibling.resolution, for: sibling.question, match, trace)
        }
    }

    /// Keeps an answer for as long as it says; one with a lifetime of zero not at all.
    private func keep(
        _ resolution: Resolution,
        for question: Question,
        _ match: RouteTable.Match?,
        _ trace: Trace?
    ) {
        guard resolution.lifetime > 0, isRight(resolution, question) else {
            trace?.note("the cache does not keep \(question.name) \(question.type)")
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
        } else {
            if match?.route.servesStale ?? true {
                answer.staleWindow = freshness.stale?.window ?? 0
            }
            answer.refreshAfter = freshness.prefetch?.due(resolution.lifetime) ?? 0
        }
        cache.insert(answer, now: clocks.now())
        trace?.note(
            "the cache keeps \(question.name) \(question.type) for \(resolution.lifetime) s"
        )
    }
}

extension Explanation {
    /// That a failure is one that is remembered (RFC 8914 §4.14).
    fileprivate static let fromCache = Explanation(code: .cachedError, text: "")
}
