// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Upstream

/// Chooses whom to ask: the vendors of a route, or upstreams.
///
/// Vendors know addresses of hostnames and nothing else, and every call to them is paid for; so all
/// other types, and all names that cannot be hostnames, go to upstreams.
@ServiceLoop
final class Router {
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

    /// Tells what was found out, once, perhaps before this returns.
    func ask(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Inquiry.Tell
    ) {
        let group = match?.route.upstreams ?? standard
        if let match, match.asksVendors(query) {
            ServiceLoop.task { [self] in
                tell(await askVendors(query, match, group, deadline: deadline))
            }
        } else {
            upstreams.ask(query, match, through: group, deadline: deadline) { tell(Finding($0)) }
        }
    }

    /// Asks the vendors of a route, and upstreams if these have nothing and the route wants it.
    private func askVendors(
        _ query: Query,
        _ match: RouteTable.Match,
        _ group: UpstreamGroup?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
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
            var resolution = await askUpstreams(query, match, group, deadline: deadline)
            vendors.note(&resolution, after: provenance)
            return Finding(resolution, siblings: siblings)
        case .failed:
            return Finding(await askUpstreams(query, match, group, deadline: deadline))
        }
    }

    private func askUpstreams(
        _ query: Query,
        _ match: RouteTable.Match,
        _ group: UpstreamGroup?,
        deadline: ContinuousClock.Instant
    ) async -> Resolution {
        await withCheckedContinuation { continuation in
            upstreams.ask(query, match, through: group, deadline: deadline) {
                continuation.resume(returning: $0)
            }
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
