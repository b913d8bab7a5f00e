// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

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
}
