// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// Chooses the source of an answer: the vendors of a route, or upstreams.
///
/// Vendors resolve only addresses of hostnames, and bill each call.  All other types and names go
/// to upstreams.
@ServiceLoop
final class Router {
    private let policy: TTLPolicy
    private let vendors: VendorStage
    private let upstreams: ServiceBindingFilter
    private let denials: DenialFilter
    private let standard: UpstreamGroup?

    /// Creates the stage.
    ///
    /// - Parameter standard: upstreams for queries that no route sends elsewhere; nil if there are
    ///   none.
    init(
        policy: TTLPolicy,
        vendors: VendorStage,
        upstreams: ServiceBindingFilter,
        denials: DenialFilter,
        standard: UpstreamGroup?
    ) {
        self.policy = policy
        self.vendors = vendors
        self.upstreams = upstreams
        self.denials = denials
        self.standard = standard
    }

    private func group(_ match: RouteTable.Match?) -> UpstreamGroup? {
        match?.route.upstreams ?? standard
    }

    /// Returns the sources of `ask` in order; sends nothing.
    func preview(_ query: Query, _ match: RouteTable.Match?) -> Decision.ResolutionPlan {
        let group = group(match)
        guard let match, match.asksVendors(query) else {
            return upstreams.preview(query, match, through: group)
        }
        var plan = Decision.ResolutionPlan()
        plan.vendors = vendors.preview(match)
        plan.emptyVendor = vendors.emptyVendor(query)
        if match.route.fallsBack {
            plan.upstreams = group?.standing ?? []
            plan.asksUpstreams = true
        }
        return plan
    }

    /// Records that `client` also waits for `query`, which is being resolved.
    func join(_ query: Query, _ match: RouteTable.Match?, of client: ClientNetwork) {
        guard let match, match.asksVendors(query) else { return }
        vendors.join(query, match, of: client)
    }

    /// Resolves `query`, and calls `completion` exactly once, possibly before this returns.
    ///
    /// - Parameter replace: called at most once, after `completion`, with a vendor's answer that
    ///   replaces the early answer of an upstream.
    func ask(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: Instant,
        trace: Trace?,
        cancellation: CancellationSignal?,
        replace: @escaping SharedResolution.Completion,
        _ completion: @escaping SharedResolution.Completion
    ) {
        let askUpstreams = { [self] (told: @escaping UpstreamStage.Completion) in
            upstreams.ask(
                query,
                match,
                through: group(match),
                deadline: deadline,
                trace: trace,
                cancellation: cancellation,
                told
            )
        }
        guard let match else { return askUpstreams { completion(ResolvedAnswer($0)) } }
        guard match.asksVendors(query) else {
            return askUpstreams { [self] said in
                let isEmpty = vendors.emptyVendor(query) != nil
                completion(
                    ResolvedAnswer(denials.filtered(said, query, match, isVendorEmpty: isEmpty))
                )
            }
        }
        VendorFallback(
            VendorFallback.Context(
                policy: policy,
                vendors: vendors,
                denials: denials,
                query: query,
                match: match,
                trace: trace,
                askUpstreams: match.route.fallsBack && group(match) != nil ? askUpstreams : nil
            ),
            replace: replace,
            completion
        )
        .begin(deadline: deadline, cancellation: cancellation)
    }
}

extension Resolution {
    /// Creates a SERVFAIL that is cached briefly (RFC 9520 §3.2).
    static func failure(
        _ query: Query,
        _ code: ExtendedError,
        _ text: String,
        isUnanswered: Bool = false
    ) -> Resolution {
        var failure = Resolution(
            rcode: .servFail,
            lifetime: ResolverLimits.failureLifetime,
            variant: query.variant,
            explanation: Explanation(code: code, text: text),
            provenance: .local
        )
        failure.hasLostAttempt = isUnanswered
        return failure
    }
}
