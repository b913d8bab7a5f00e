// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Gives a client a stale answer when a better one takes too long (RFC 8767).
///
/// What it does not wait for goes on all the same, and is kept for the next one who asks.
@ServiceLoop
final class Patience {
    private let rule: Freshness.Stale?
    private let cache: AnswerCache

    /// Makes one for the answers of a cache.
    ///
    /// - Parameter rule: nil if stale answers are never given.
    init(_ rule: Freshness.Stale?, cache: AnswerCache) {
        self.rule = rule
        self.cache = cache
    }

    /// What a client gets that cannot wait for a better answer.
    struct LastResort {
        let resolution: Resolution

        /// How long a better one is waited for at most; nil for not at all.
        let patience: Duration?

        /// The better of what was found out and this.
        func unless(_ found: Resolution) -> Resolution {
            // Only these say anything about the name (RFC 8767 §5, RFC 6672 §2.2).
            [.noError, .nxDomain, .yxDomain].contains(found.rcode) ? found : resolution
        }
    }

    /// The stale answer to a query, if there is one.
    func lastResort(
        _ query: Query,
        _ match: RouteTable.Match?,
        now: ContinuousClock.Instant
    ) -> LastResort? {
        guard let rule = rule(match),
            let stale = cache.staleAnswer(
                for: query.question,
                variant: query.variant,
                ttl: rule.ttl,
                now: now
            )
        else { return nil }
        let patience = Self.patience(rule, isFresh: stale.expiredFor == nil, isHeld: stale.isHeld)
        return LastResort(resolution: Resolution(stale), patience: patience)
    }

    /// The same for an operator: what a client would get, and how long it would wait for a better
    /// answer; nil for not at all.
    func preview(
        _ query: Query,
        _ match: RouteTable.Match?,
        now: ContinuousClock.Instant
    ) -> (entry: CacheEntry, ttl: UInt32, patience: Duration?)? {
        guard let rule = rule(match),
            let (entry, isHeld) = cache.lastResort(
                for: query.question,
                variant: query.variant,
                now: now
            )
        else { return nil }
        let patience = Self.patience(rule, isFresh: entry.remaining > 0, isHeld: isHeld)
        return (entry, rule.ttl, patience)
    }

    /// The rule for names of a route; nil if stale answers are not given.
    private func rule(_ match: RouteTable.Match?) -> Freshness.Stale? {
        match?.route.servesStale ?? true ? rule : nil
    }

    /// How long a better answer is waited for; nil for not at all.
    private static func patience(
        _ rule: Freshness.Stale,
        isFresh: Bool,
        isHeld: Bool
    ) -> Duration? {
        // While a failure is remembered, asking again is of no use (RFC 9520 §3.2).
        isFresh || isHeld ? nil : rule.after
    }
}

extension Resolution {
    /// A stale answer, which says that it is one (RFC 8914 §4.4 and §4.20).
    fileprivate init(_ stale: StaleAnswer) {
        var explanation: Explanation?
        if let seconds = stale.expiredFor {
            explanation = Explanation(
                code: stale.answer.rcode == .nxDomain ? .staleNXDomainAnswer : .staleAnswer,
                text: "expired \(seconds) s ago"
            )
        }
        self.init(
            rcode: stale.answer.rcode,
            variant: stale.answer.variant,
            explanation: explanation,
            provenance: Provenance(source: stale.answer.source, origin: stale.answer.server)
        )
        sections = stale.answer.sections
        isAuthentic = stale.answer.isAuthentic
        provenance.isStale = stale.expiredFor != nil
    }
}
