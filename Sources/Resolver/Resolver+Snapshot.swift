// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
internal import Net

extension Resolver {
    /// Returns the validity rule for answers of a snapshot under the current settings.
    ///
    /// - Parameter vendors: text of the settings that determine a vendor's answers, by vendor name.
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

    /// Records the static hosts and routing domains, and returns a check for later changes.
    ///
    /// The caller calls this function before a snapshot is loaded, and the returned function
    /// afterwards. After a change, the returned function returns a sweep that removes the invalid
    /// restored answers; otherwise nil.
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
