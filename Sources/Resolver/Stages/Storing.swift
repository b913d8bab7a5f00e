// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
package import Net

/// The stage that keeps answers for the next one who asks.
package final class Storing: Resolving {
    private let next: any Resolving
    private let store: AnswerStore

    /// Puts this stage before `next`.
    package init(store: AnswerStore, next: any Resolving) {
        self.store = store
        self.next = next
    }

    package func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        let finding = await next.resolve(query, match, deadline: deadline)
        store.keep(finding.resolution, for: query.question)
        for sibling in finding.siblings { store.keep(sibling.resolution, for: sibling.question) }
        return finding
    }
}

/// Puts resolutions into the answer cache.
@ServiceLoop
package final class AnswerStore {
    private let cache: AnswerCache
    private let clocks: Clocks

    /// A store that fills `cache`.
    package init(_ cache: AnswerCache, _ clocks: Clocks) {
        self.cache = cache
        self.clocks = clocks
    }

    /// Keeps an answer for as long as it says; one with a lifetime of zero not at all.
    func keep(_ resolution: Resolution, for question: Question) {
        guard resolution.lifetime > 0 else { return }
        cache.insert(
            CachedAnswer(
                question: question,
                variant: resolution.variant,
                rcode: resolution.rcode,
                sections: resolution.sections,
                lifetime: resolution.lifetime,
                source: resolution.provenance.source,
                server: resolution.provenance.origin
            ),
            now: clocks.now()
        )
    }
}
