// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import DNSWire
package import HTTPDNS
package import Upstream

/// The resolver's plan for a query, as each stage reports it.
///
/// The client gets the first available of `hit`, `own`, the result of `plan` and `lastResort`.
/// `LocalAnswers` keeps answers of `own` out of the cache, so the order of the first two does not
/// matter.
package struct Decision: Sendable {
    package let query: Query

    /// The route of the name; nil if it has none.
    package var match: RouteTable.Match?

    /// More specific routes that exclude the name with `except`.
    package var passedOver: [RouteTable.Match] = []

    /// The fresh cache entry.
    package var hit: CacheEntry?

    /// The local answer and its stage.
    package var own: (stage: OwnStage, answer: Resolution)?

    /// The cached answer that the client gets if no better answer comes in time: its cache entry,
    /// the TTL in seconds to send, and the time to wait for a better answer (nil: no wait).
    package var lastResort: (entry: CacheEntry, ttl: UInt32, delay: Duration?)?

    /// True if the query is already in flight, so that the client would wait for its result.
    package var isAsked = false

    /// The NAT64 prefix for synthesized addresses; nil if the name gets none.
    package var prefix: NAT64Prefix?

    /// The sources that are queried if the cache and the local stages have no answer.
    package var plan = ResolutionPlan()

    /// Stages that answer locally, in order.
    package enum OwnStage: Sendable, CaseIterable {
        /// Static hosts.
        case hosts

        /// Types that do not ask for records of a name.
        case types

        /// Names of the NAT64 discovery.
        case nat64

        /// Special names, which are never forwarded.
        case specialNames

        /// Suppression of an address family.
        case suppressing
    }

    /// The sources of an answer, in order.
    package struct ResolutionPlan: Sendable {
        /// An answer that needs no query.
        package var refusal: Resolution?

        /// The vendors; empty if the query is not for vendors.
        package var vendors: [Candidate] = []

        /// The first vendor that would be queried and waited for; nil if there is none.
        package var firstAsked: VendorClient? { vendors.first(where: \.isAsked)?.client }

        /// The vendor server that recently had no address for the name; then no vendor is queried.
        package var emptyVendor: String?

        /// True if upstreams are queried, either first or after the vendors.
        package var asksUpstreams = false

        /// The upstream servers in the order of their selection.
        package var upstreams: [(server: any Forwarding, condition: ServerCondition)] = []

        /// True if address hints in the reply are replaced.
        package var alignsHints = false
    }

    /// A vendor of a route.
    package struct Candidate: Sendable {
        package let client: VendorClient

        /// State of the vendor; only an `open` vendor is queried.
        package let state: VendorStatistics.State

        /// True if the vendor is skipped: it is unresponsive, and there is another source.
        package let isPassedOver: Bool

        /// True if the vendor would be probed in the background.
        package let isTried: Bool

        /// True if the vendor is queried and its answer is waited for.
        package var isAsked: Bool { state == .open && !isPassedOver }
    }

    /// The vendor that would bill a call for this query; nil if none is called.
    package var payee: VendorClient? {
        plan.emptyVendor == nil ? plan.firstAsked : nil
    }

    /// Vendors that the resolver would skip for the query and probe in the background.
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
