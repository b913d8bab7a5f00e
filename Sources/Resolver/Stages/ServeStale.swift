// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Serve-stale: gives a client a stale answer when a fresh answer takes too long (RFC 8767).
@ServiceLoop
final class ServeStale {
    private let rule: Freshness.Stale?
    private let cache: AnswerCache

    init(_ rule: Freshness.Stale?, cache: AnswerCache) {
        self.rule = rule
        self.cache = cache
    }

    /// Cached answer that a client gets if no better answer arrives in time.
    struct LastResort {
        let resolution: Resolution

        let delay: Duration?

        /// Returns `found` for NOERROR, NXDOMAIN and YXDOMAIN; otherwise, the cached answer.
        func unless(_ found: Resolution) -> Resolution {
            // Other RCODEs say nothing about the name (RFC 8767 §5, RFC 6672 §2.2).
            [.noError, .nxDomain, .yxDomain].contains(found.rcode) ? found : resolution
        }
    }

    /// Returns the cached answer to a query, stale or fresh.
    func lastResort(
        _ query: Query,
        hash: UInt64? = nil,
        _ match: RouteTable.Match?,
        now: Instant
    ) -> LastResort? {
        guard let rule = rule(match),
            let stale = cache.staleAnswer(
                for: query.question,
                hash: hash,
                variant: query.variant,
                ttl: rule.ttl,
                now: now
            )
        else { return nil }
        let delay = Self.delay(rule, isFresh: stale.expiredFor == nil, isHeld: stale.isHeld)
        return LastResort(resolution: Resolution(stale), delay: delay)
    }

    func preview(
        _ query: Query,
        _ match: RouteTable.Match?,
        now: Instant
    ) -> (entry: CacheEntry, ttl: UInt32, delay: Duration?)? {
        guard let rule = rule(match),
            let (entry, isHeld) = cache.lastResort(
                for: query.question,
                variant: query.variant,
                now: now
            )
        else { return nil }
        let delay = Self.delay(rule, isFresh: entry.remaining > 0, isHeld: isHeld)
        return (entry, rule.ttl, delay)
    }

    private func rule(_ match: RouteTable.Match?) -> Freshness.Stale? {
        match?.route.servesStale ?? true ? rule : nil
    }

    private static func delay(
        _ rule: Freshness.Stale,
        isFresh: Bool,
        isHeld: Bool
    ) -> Duration? {
        // No delay while a failure is cached, because the query is not repeated (RFC 9520 §3.2).
        isFresh || isHeld ? nil : rule.after
    }
}

extension Resolution {
    /// Adds the extended error of a stale answer (RFC 8914 §4.4, §4.20).
    fileprivate init(_ stale: StaleAnswer) {
        var explanation: Explanation?
        if let seconds = stale.expiredFor {
            explanation = Explanation(
                code: stale.answer.rcode == .nxDomain ? .staleNXDomainAnswer : .staleAnswer,
                text: "expired \(seconds) s ago"
            )
        }
        self.init(stale.answer)
        self.explanation = explanation
        provenance.isStale = stale.expiredFor != nil
    }
}
