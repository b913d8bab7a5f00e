// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
package import Upstream

/// The stage that chooses whom to ask: the vendors of a route, or upstreams.
///
/// Vendors know addresses of hostnames and nothing else, and every call to them is paid for; so all
/// other types, and all names that cannot be hostnames, go to upstreams.
package final class Router: Resolving {
    private let routes: RouteTable
    private let vendors: VendorStage
    private let upstreams: UpstreamStage
    private let standard: UpstreamGroup?

    /// Makes the stage.
    ///
    /// - Parameter standard: asked for all that no route sends elsewhere; nil if there is none.
    package init(
        routes: RouteTable,
        vendors: VendorStage,
        upstreams: UpstreamStage,
        standard: UpstreamGroup?
    ) {
        self.routes = routes
        self.vendors = vendors
        self.upstreams = upstreams
        self.standard = standard
    }

    package func resolve(_ query: Query, deadline: ContinuousClock.Instant) async -> Resolution {
        guard let match = routes.route(for: query.question.name) else {
            return await upstreams.resolve(query, through: standard, deadline: deadline)
        }
        let group = match.route.upstreams ?? standard
        guard !match.route.vendors.isEmpty, query.asksForAddress, query.question.name.isHostname
        else {
            return await upstreams.resolve(query, through: group, deadline: deadline)
        }
        switch await vendors.resolve(query, match, deadline: deadline) {
        case .answered(let resolution):
            return resolution
        case .empty(let provenance) where !match.route.fallsBack:
            return vendors.noData(query.question, match, provenance)
        case .failed where !match.route.fallsBack:
            return .failure(query, .noReachableAuthority, "no vendor answered")
        case .empty(let provenance):
            var resolution = await upstreams.resolve(query, through: group, deadline: deadline)
            vendors.note(&resolution, after: provenance)
            return resolution
        case .failed:
            return await upstreams.resolve(query, through: group, deadline: deadline)
        }
    }
}

extension Resolution {
    /// "Nothing could be found out", remembered for a moment (RFC 9520 §3.2).
    static func failure(_ query: Query, _ code: ExtendedError, _ text: String) -> Resolution {
        Resolution(
            rcode: .servFail,
            lifetime: ResolverLimits.failureLifetime,
            variant: query.variant,
            explanation: Explanation(code: code, text: text),
            provenance: .local
        )
    }
}
