// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
package import Net

/// The stage that gives a client a stale answer when a better one takes too long (RFC 8767).
///
/// What it does not wait for goes on behind it, and is kept for the next one who asks.
package final class Patience: Resolving {
    private let rule: Freshness.Stale?
    private let cache: AnswerCache
    private let clocks: Clocks
    private let next: any Resolving

    /// Puts this stage before `next`.
    ///
    /// - Parameter rule: nil if stale answers are never given.
    package init(
        _ rule: Freshness.Stale?,
        cache: AnswerCache,
        clocks: Clocks,
        next: any Resolving
    ) {
        self.rule = rule
        self.cache = cache
        self.clocks = clocks
        self.next = next
    }

    package func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        let now = clocks.now()
        guard let rule, match?.route.servesStale ?? true,
            let stale = cache.staleAnswer(
                for: query.question,
                variant: query.variant,
                ttl: rule.ttl,
                now: now
            )
        else { return await next.resolve(query, match, deadline: deadline) }

        let lastResort = Finding(Resolution(stale))
        // While a failure is remembered, asking again is of no use (RFC 9520 §3.2).
        guard stale.expiredFor != nil, !stale.isHeld else { return lastResort }
        let finding = await next.resolve(query, match, deadline: min(deadline, now + rule.after))
        // Only these two say anything about the name (RFC 8767 §5).
        let isAnswer = [.noError, .nxDomain].contains(finding.resolution.rcode)
        return isAnswer ? finding : lastResort
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
