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

    package func resolve(_ query: Query, deadline: ContinuousClock.Instant) async -> Resolution {
        let resolution = await next.resolve(query, deadline: deadline)
        store.keep(resolution, for: query.question)
        return resolution
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
