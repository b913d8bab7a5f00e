// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import HTTPDNS
package import Upstream

/// The resolver's plan for a query, as reported by its stages.
///
/// The client gets the first of `hit`, `own`, the result of `plan`, and `lastResort`. At most one
/// of `hit` and `own` is set, because `LocalAnswers` keeps answers of `own` out of the cache.
package struct Decision: Sendable {
    package let query: Query

    /// Route of the name and the matching pattern; nil without a route.
    package var match: RouteTable.Match?

    /// More specific routes that exclude the name with `except`.
    package var passedOver: [RouteTable.Match] = []

    /// Fresh cache entry that answers the query.
    package var hit: CacheEntry?

    package var own: (stage: OwnStage, answer: Resolution)?

    /// Cached answer to send if no better answer comes in time.
    ///
    /// `ttl` is the TTL to send, in seconds. `delay` is the time to wait for a better answer; nil
    /// to send the entry without waiting.
    package var lastResort: (entry: CacheEntry, ttl: UInt32, delay: Duration?)?

    /// True if an equal query is in flight, whose result the client would get.
    package var isAsked = false

    /// The NAT64 prefix for synthesized addresses; nil if the name gets none.
    package var prefix: NAT64Prefix?

    /// Sources to query if neither the cache nor a local stage has an answer.
    package var plan = ResolutionPlan()

    /// Stages with local answers, in order.
    package enum OwnStage: Sendable, CaseIterable {
        case hosts

        /// Query types that do not ask for records of a name.
        case types

        /// Names of the NAT64 discovery.
        case nat64

        case specialNames

        /// Suppression of an address family.
        case suppressing
    }

    /// Sources that would be queried, in order.
    package struct ResolutionPlan: Sendable {
        /// Answer that the stages give without a query to a source.
        package var refusal: Resolution?

        /// Vendors of the route; empty if vendors do not answer such queries.
        package var vendors: [Candidate] = []

        /// First vendor whose answer the client would wait for; nil if there is none.
        package var firstAsked: VendorClient? { vendors.first(where: \.isAsked)?.client }

        /// Vendor server that recently had no address for the name, so that no vendor is queried.
        package var emptyVendor: String?

        /// Part of the fleet; nil without a fleet.
        package var fleet: FleetExchange.Outlook?

        /// True if upstreams are queried, immediately or after the vendors.
        package var asksUpstreams = false

        /// Upstream servers in the order of their selection.
        package var upstreams: [(server: any Forwarding, condition: ServerCondition)] = []

        /// True if address hints in the reply would be replaced.
        package var alignsHints = false
    }

    package struct Candidate: Sendable {
        package let client: VendorClient

        /// State of the vendor, which is queried only if `open`.
        package let state: VendorStatistics.State

        /// True if the vendor is skipped because it does not respond and there is another source.
        package let isPassedOver: Bool

        /// True if a skipped vendor would be probed in the background.
        package let isTried: Bool

        /// True if the client would wait for an answer from this vendor.
        package var isAsked: Bool { state == .open && !isPassedOver }
    }

    /// Vendor that would bill a call for this query; nil if no vendor is called.
    package var payee: VendorClient? {
        plan.emptyVendor == nil ? plan.firstAsked : nil
    }

    /// Vendors that the query skips and that are probed in the background.
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
