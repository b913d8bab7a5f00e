// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
internal import Net

extension Resolver {
    /// Returns the filter that selects the answers of a snapshot that the current settings allow.
    ///
    /// - Parameter vendors: for each vendor name, the text of the settings that determine the
    ///   vendor's answers.
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

    /// Stores the static hosts and routing domains, and returns a *check* that detects changes.
    ///
    /// The caller calls `changesDuringLoad` before the load of a snapshot, and the check after the
    /// load. If the hosts or the domains have changed, the check returns a sweep. The sweep removes
    /// the restored answers that contradict the new hosts or domains. Without a change, the check
    /// returns nil.
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
