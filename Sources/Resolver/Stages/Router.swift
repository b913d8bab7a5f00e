// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Upstream

/// The stage that chooses whom to ask: the vendors of a route, or upstreams.
///
/// Vendors know addresses of hostnames and nothing else, and every call to them is paid for; so all
/// other types, and all names that cannot be hostnames, go to upstreams.
final class Router: Resolving {
    private let policy: TTLPolicy
    private let vendors: VendorStage
    private let upstreams: Aligning
    private let standard: UpstreamGroup?

    /// Makes the stage.
    ///
    /// - Parameter standard: asked for all that no route sends elsewhere; nil if there is none.
    init(
        policy: TTLPolicy,
        vendors: VendorStage,
        upstreams: Aligning,
        standard: UpstreamGroup?
    ) {
        self.policy = policy
        self.vendors = vendors
        self.upstreams = upstreams
        self.standard = standard
    }

    func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        guard let match else {
            return Finding(
                await upstreams.resolve(query, nil, through: standard, deadline: deadline)
            )
        }
        let group = match.route.upstreams ?? standard
        guard match.asksVendors(query) else {
            return Finding(
                await upstreams.resolve(query, match, through: group, deadline: deadline)
            )
        }
        switch await vendors.resolve(query, match, deadline: deadline) {
        case .answered(let finding):
            return finding
        case .empty(let provenance, let siblings) where !match.route.fallsBack:
            return Finding(
                .noData(
                    query.question,
                    zone: match.domain,
                    seconds: policy.negative.lowerBound,
                    provenance: provenance
                ),
                siblings: siblings
            )
        case .failed where !match.route.fallsBack:
            return Finding(.failure(query, .noReachableAuthority, "no vendor answered"))
        case .empty(let provenance, let siblings):
            var resolution = await upstreams.resolve(
                query,
                match,
                through: group,
                deadline: deadline
            )
            vendors.note(&resolution, after: provenance)
            return Finding(resolution, siblings: siblings)
        case .failed:
            return Finding(
                await upstreams.resolve(query, match, through: group, deadline: deadline)
            )
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
