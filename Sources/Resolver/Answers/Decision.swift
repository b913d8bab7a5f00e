// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import HTTPDNS
package import Upstream

/// Steps that the resolver would take for a query, for `explain`.
///
/// The client gets the first available of `hit`, `own`, `plan` and `lastResort`.
package struct Decision: Sendable {
    package let query: Query

    package var match: RouteTable.Match?

    package var passedOver: [RouteTable.Match] = []

    package var hit: CacheEntry?

    package var own: (stage: OwnStage, answer: Resolution)?

    /// Cached answer, with its TTL in seconds, for a query that gets no better answer.
    ///
    /// The client waits at most `delay` for a better answer; if `delay` is nil, it does not wait.
    package var lastResort: (entry: CacheEntry, ttl: UInt32, delay: Duration?)?

    package var isAsked = false

    /// NAT64 prefix that DNS64 uses for this query.
    package var prefix: NAT64Prefix?

    package var plan = ResolutionPlan()

    /// Stages that give local answers, in the order in which the resolver uses them.
    package enum OwnStage: Sendable, CaseIterable {
        case hosts

        case types

        case nat64

        case specialNames

        case suppressing
    }

    /// Sources that would be queried, in order.
    package struct ResolutionPlan: Sendable {
        package var refusal: Resolution?

        /// Vendors of the route; empty if vendors do not resolve this query.
        package var vendors: [Candidate] = []

        package var firstAsked: VendorClient? { vendors.first(where: \.isAsked)?.client }

        /// Vendor server that recently replied without an address of the name; if set, no vendor is
        /// called.
        package var emptyVendor: String?

        package var fleet: FleetExchange.Outlook?

        package var asksUpstreams = false

        package var upstreams: [UpstreamGroup.Standing] = []

        /// Reason why the group of upstreams has no server.
        package var absence: UpstreamError?

        package var alignsHints = false
    }

    package struct Candidate: Sendable {
        package let client: VendorClient

        package let state: VendorStatistics.State

        /// True if the resolver skips the vendor, because this vendor does not respond.
        package let isPassedOver: Bool

        /// True if the resolver probes the skipped vendor.
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

    package var asks: Bool {
        if hit != nil || own != nil || plan.refusal != nil || isAsked { return false }
        guard let lastResort else { return true }
        return lastResort.delay != nil
    }
}
