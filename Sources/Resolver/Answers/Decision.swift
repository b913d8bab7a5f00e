// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import HTTPDNS
package import Upstream

/// Steps that the resolver would take for a query, for `explain`.
///
/// The client gets the first available answer of `hit`, `own`, `plan` and `lastResort`. At most one
/// of `hit` and `own` is set, because answers of `own` are not cached.
package struct Decision: Sendable {
    package let query: Query

    /// Route of the name, and the matching pattern; nil without a route.
    package var match: RouteTable.Match?

    /// More specific routes that exclude the name with `except`.
    package var passedOver: [RouteTable.Match] = []

    package var hit: CacheEntry?

    package var own: (stage: OwnStage, answer: Resolution)?

    /// Cached answer that is sent if no better answer arrives in time.
    ///
    /// `ttl` is in seconds. `delay` is the time to wait for a better answer; nil for no wait.
    package var lastResort: (entry: CacheEntry, ttl: UInt32, delay: Duration?)?

    /// True if an equal query is in flight, which this query would join.
    package var isAsked = false

    /// NAT64 prefix for synthesized addresses; nil if no addresses are synthesized for the name.
    package var prefix: NAT64Prefix?

    package var plan = ResolutionPlan()

    /// Stages with local answers, in order.
    package enum OwnStage: Sendable, CaseIterable {
        case hosts

        case types

        case nat64

        case specialNames

        case suppressing
    }

    /// Sources that would be queried, in order.
    package struct ResolutionPlan: Sendable {
        /// Local answer; if set, no source is queried.
        package var refusal: Resolution?

        /// Vendors of the route; empty if vendors do not resolve this query.
        package var vendors: [Candidate] = []

        package var firstAsked: VendorClient? { vendors.first(where: \.isAsked)?.client }

        /// Vendor server that recently returned no address; if set, no vendor is queried.
        package var emptyVendor: String?

        /// Expected use of the fleet for this query; nil without a fleet.
        package var fleet: FleetExchange.Outlook?

        /// True if upstreams are queried, immediately or after the vendors.
        package var asksUpstreams = false

        package var upstreams: [UpstreamGroup.Standing] = []

        /// Reason that the upstreams have no servers; nil if they have servers, or do not exist.
        package var absence: UpstreamError?

        package var alignsHints = false
    }

    package struct Candidate: Sendable {
        package let client: VendorClient

        /// State of the vendor; only a vendor in the state `open` accepts queries.
        package let state: VendorStatistics.State

        /// True if the vendor is skipped because it does not respond and another source exists.
        package let isPassedOver: Bool

        /// True if a skipped vendor would be probed in the background.
        package let isTried: Bool

        package var isAsked: Bool { state == .open && !isPassedOver }
    }

    /// Vendor that would bill a call for this query; nil if no vendor is called.
    package var payee: VendorClient? {
        plan.emptyVendor == nil ? plan.firstAsked : nil
    }

    package var trials: [VendorClient] {
        guard plan.emptyVendor == nil else { return [] }
        return plan.vendors.prefix { !$0.isAsked }.filter(\.isTried).map(\.client)
    }

    /// True if the query would be sent to a vendor or an upstream now.
    package var asks: Bool {
        if hit != nil || own != nil || plan.refusal != nil || isAsked { return false }
        guard let lastResort else { return true }
        return lastResort.delay != nil
    }
}
