// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
internal import Net

extension Resolver: DNS64.Resolving {
    func resolveAddresses(
        _ query: Query,
        for outer: PendingQuery,
        _ completion: consuming Completion<Resolution>
    ) {
        let now = clocks.now()
        if let fresh = cache.freshAnswer(for: query.question, variant: query.variant, now: now) {
            return completion(Resolution(fresh.answer))
        }
        let match = routes.route(for: query.question.name)
        singleFlight.ask(
            query,
            match,
            for: outer.client,
            payer: outer.payer,
            now: now,
            deadline: outer.deadline,
            completion
        )
    }

    func resolvePointer(
        _ query: Query,
        for outer: PendingQuery,
        _ completion: consuming Completion<Resolution>
    ) {
        resolve(query, of: outer.client, deadline: outer.deadline, completion)
    }

    /// Removes the answers that depend on the NAT64 prefix, after a change of the prefix.
    ///
    /// - Returns: the sweep, which the caller must run to its end.
    package func prefixChanged() -> CacheSweep {
        CacheSweep(removingFrom: cache, now: clocks.now()) { [origins] _, type, _, number in
            type == .aaaa || origins.isSynthesized(number)
        }
    }
}
