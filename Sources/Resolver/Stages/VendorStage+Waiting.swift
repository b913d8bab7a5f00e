// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS
internal import Net

// MARK: - Slow vendors

extension VendorStage {
    /// Vendors of a route that did not get a query yet, in order.
    @ServiceLoop
    final class RemainingVendors {
        var clients: ArraySlice<VendorClient>

        init(of match: RouteTable.Match) {
            clients = match.route.vendors[...]
        }
    }

    /// Query to the vendors of a route.
    struct Work {
        let query: PendingQuery
        let match: RouteTable.Match
        let vendors: RemainingVendors

        /// Deadline of all vendors.
        let end: Instant

        /// End of the wait for an answer of another machine; nil if no client waits.
        let waitEnd: Instant?
    }

    /// Returns the vendor that also gets a query if the earlier vendors are slow; nil if none.
    ///
    /// - Parameter isProtected: true if the upstreams are encrypted. Then the upstreams get the
    ///   query, instead of a vendor without encryption.
    func nextVendor(_ vendors: RemainingVendors, isProtected: Bool) -> VendorClient? {
        guard let next = vendors.clients.first, next.facts.isProtected || !isProtected,
            next.isAvailable
        else { return nil }
        return next
    }

    /// Returns the time until which an early fallback must wait; nil if it can start now.
    ///
    /// Also removes a name from a vendor's queue if the name has waited too long for a call. The
    /// next vendor then gets the query.
    func waitEnd(
        _ question: Question,
        _ match: RouteTable.Match,
        after delay: Duration,
        isProtected: Bool
    ) -> Instant? {
        var others = match.route.vendors[...]
        let parameters = match.route.options.parameters
        while let vendor = others.popFirst() {
            let end = vendor.waitEnd(
                question.name,
                question.families,
                parameters: parameters,
                after: delay,
                isProtected: others.first?.facts.isProtected ?? isProtected
            )
            if let end { return end }
            if !others.isEmpty, vendor.leaveQueue(question.name, question.families, parameters) {
                return clocks.now() + delay
            }
        }
        return nil
    }
}
