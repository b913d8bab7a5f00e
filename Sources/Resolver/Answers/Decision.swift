// SPDX-License-Identifier: Apache-2.0
package import DNSCache
package import HTTPDNS
package import Upstream

/// What would be done with a query now, as each stage that decides says itself.
///
/// The first of these that there is, is the answer: `hit`, `own`, what `course` brings, `lastResort`.
/// `Overrides` keeps the cache free of what `own` answers, so it does not matter which of the two
/// is looked at first.
package struct Decision: Sendable {
    package let query: Query

    /// The route of the name; nil if it has none.
    package var match: RouteTable.Match?

    /// More specific routes than that which except the name.
    package var passedOver: [RouteTable.Match] = []

    /// The fresh entry of the cache.
    package var hit: CacheEntry?

    /// What is answered here, and where.
    package var own: (stage: OwnStage, answer: Resolution)?

    /// What the client gets if nobody has a better answer in time, with the TTL that it is given
    /// with, in seconds, and how long a better one is waited for; nil for not at all.
    package var lastResort: (entry: CacheEntry, ttl: UInt32, patience: Duration?)?

    /// Whether it is being asked already, so that the client would wait for that answer.
    package var isAsked = false

    /// Who is asked if all this answers nothing.
    package var course = Course()

    /// Stages that answer without asking, in their order.
    package enum OwnStage: Sendable, CaseIterable {
        /// Names that are written down.
        case hosts

        /// Types that ask for something other than records.
        case types

        /// Names that never leave the machine.
        case specialNames

        /// No name has an IPv6 address.
        case suppressing
    }

    /// Whom a question goes to, in order.
    package struct Course: Sendable {
        /// Said without asking anybody.
        package var refusal: Resolution?

        /// The vendors; none if the question is not for them.
        package var vendors: [Candidate] = []

        /// The first vendor whose answer is waited for; nil if there is none.
        package var firstAsked: VendorClient? { vendors.first(where: \.isAsked)?.client }

        /// The vendor's server that has just had nothing for the name, so that none is asked.
        package var emptyVendor: String?

        /// Whether upstreams are asked, where vendors have nothing.
        package var asksUpstreams = false

        /// Their servers in the order in which they would be asked.
        package var upstreams: [(server: any Forwarding, condition: ServerCondition)] = []

        /// Whether the addresses in what they say are replaced by ours.
        package var alignsHints = false
    }

    /// One vendor of a route.
    package struct Candidate: Sendable {
        package let client: VendorClient

        /// Whether it is asked at all now, or why not.
        package let state: VendorStatistics.State

        /// Whether nobody waits for it, as nothing is heard of it and there is somebody else.
        package let isPassedOver: Bool

        /// Whether it would be asked for a sign of life meanwhile.
        package let isTried: Bool

        /// Whether it is asked, and its answer waited for.
        package var isAsked: Bool { state == .open && !isPassedOver }
    }

    /// The vendor whose call it costs to find the answer out; nil if none is asked.
    package var payee: VendorClient? {
        course.emptyVendor == nil ? course.firstAsked : nil
    }

    /// The vendors that would be asked beside that, each for a sign of life.
    package var trials: [VendorClient] {
        guard course.emptyVendor == nil else { return [] }
        return course.vendors.prefix { !$0.isAsked }.filter(\.isTried).map(\.client)
    }

    /// Whether somebody is asked now.
    package var asks: Bool {
        if hit != nil || own != nil || course.refusal != nil || isAsked { return false }
        guard let lastResort else { return true }
        return lastResort.patience != nil
    }
}
