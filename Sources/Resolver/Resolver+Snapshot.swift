// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
internal import Net

extension Resolver {
    package func snapshotValidity(vendors: [String: String]) -> SnapshotValidity {
        SnapshotValidity(
            routes: routes,
            routingDomains: activeRoutes.domains,
            standard: NameSources(nil, plan),
            sources: routes.examples.map { NameSources($0, plan) },
            answers: plan.answers,
            vendors: vendors,
            origins: origins,
            overridden: overridden
        )
    }

    /// Returns a closure that finds changes of static hosts and routing domains during the load of
    /// a snapshot.
    ///
    /// The caller must call this function before the load, and the closure after the load. If the
    /// hosts or the domains have changed, the closure returns a sweep, which removes the restored
    /// answers that contradict the new hosts or domains. Without a change, the closure returns nil.
    package func changesDuringLoad() -> @ServiceLoop () -> CacheSweep? {
        let (former, formerDomains) = (hosts, activeRoutes.domains)
        return { [self] in
            let domains = activeRoutes.domains
            guard hosts != former || domains != formerDomains else { return nil }
            let overridden = overridden
            return CacheSweep(removingFrom: cache, now: clocks.now()) {
                [routes, origins] name, type, _, number in
                overridden(Question(name: name, type: type))
                    || !origins.isLearned(number) && routes.areTaken(domains, name)
            }
        }
    }
}
