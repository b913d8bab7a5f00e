// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
internal import Net
package import Upstream

extension Resolver {
    /// Resolves an A query of DNS64 itself; vendor calls are charged to `outer.payer`.
    func resolveAddresses(
        _ query: Query,
        for outer: PendingQuery,
        _ completion: consuming Completion<Resolution>
    ) {
        let now = clocks.now()
        if let fresh = cache.freshAnswer(for: query.question, variant: query.variant, now: now) {
            return completion(Resolution(fresh.answer))
        }
        let match = activeRoutes.route(for: query.question.name)
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

    /// Resolves a PTR query of DNS64 itself, also from static hosts and special names.
    func resolvePointer(
        _ query: Query,
        for outer: PendingQuery,
        _ completion: consuming Completion<Resolution>
    ) {
        resolve(query, of: outer.client, deadline: outer.deadline, completion)
    }

    /// Returns a sweep that removes the cached answers that depend on the NAT64 prefix.
    ///
    /// A vendor's addresses are removed only if at least one of these addresses embeds a private
    /// address under the new prefix. The other addresses of vendors are kept, because a vendor may
    /// bill the call for new addresses.
    ///
    /// - Parameter savesCalls: true if the sweep also keeps synthesized and negative answers of
    ///   vendors.
    /// - Returns: the sweep; the caller must run it to its end.
    package func prefixChanged(to prefix: NAT64Prefix?, savesCalls: Bool) -> CacheSweep {
        CacheSweep(removingByContent: cache, now: clocks.now()) {
            [origins] type, number, isNegative, sections in
            let isSynthesized = origins.isSynthesized(number)
            guard type == .aaaa || type.isServiceBinding || isSynthesized else { return false }
            guard origins.vendor(number) != nil else { return true }
            guard !isNegative, !isSynthesized else { return !savesCalls }
            return prefix?.embedsPrivateAddress(in: sections()) ?? false
        }
    }

    /// Returns a sweep that removes the answers that `change` makes invalid.
    ///
    /// The caller must run the sweep to its end.
    package func networkResolversChanged(_ change: LearnedNetwork.Change) -> CacheSweep {
        let numbers = origins.numbers(named: change.sources)
        let domains = Set(change.domains)
        return CacheSweep(removingFrom: cache, now: clocks.now()) {
            [routes] name, _, _, number in
            numbers.contains(number) || routes.areTaken(domains, name)
        }
    }

    package func forget(_ servers: [any Forwarding]) { upstreams.forget(servers) }
}
