// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS
internal import Net

// MARK: - Slow vendors

extension VendorStage {
    /// Vendors that have not got the query yet, and the limits that prevented calls to earlier
    /// vendors.
    @ServiceLoop
    final class RemainingVendors {
        var clients: ArraySlice<VendorClient>

        /// Limit that prevented a call; `ofClient` has precedence over `ofVendor`.
        private(set) var limit: Limit?

        /// Limit that prevented a call, if it is a limit on the queue or on the calls in flight.
        ///
        /// Nil for another limit, such as the budget: then an empty reply of a later vendor is
        /// cached. If it were not cached, each query for the name would cause a billed call.
        private(set) var callLimit: Limit?

        /// True if the reply is from an unprotected vendor, because a limit of the client prevented
        /// a call to a protected vendor.
        private(set) var isLessProtected = false

        /// True if other clients' calls prevented a call to a protected vendor.
        ///
        /// In this case, unprotected sources do not get the name. Without this rule, a client with
        /// many calls could cause the names of other clients to be sent without encryption.
        private(set) var isCrowded = false

        /// True if other clients' calls prevented a call to at least one vendor.
        private(set) var lacksCall = false

        private var lacksProtected = false

        init(of match: RouteTable.Match) {
            clients = match.route.vendors[...]
        }

        func failed(_ failure: VendorFailure, of vendor: VendorClient) {
            guard let latest = failure.limit else { return }
            if limit != .ofClient { limit = latest }
            if failure.isCrowded {
                lacksCall = true
                if vendor.facts.isProtected { isCrowded = true }
            }
            guard failure.reason.kind == .busy else { return }
            if callLimit != .ofClient { callLimit = latest }
            if latest == .ofClient, vendor.facts.isProtected { lacksProtected = true }
        }

        func replied(_ vendor: VendorClient) {
            isLessProtected = lacksProtected && !vendor.facts.isProtected
        }
    }

    /// Query to the vendors of a route, with its state.
    struct Work {
        let query: PendingQuery
        let match: RouteTable.Match
        let vendors: RemainingVendors

        let end: Instant

        let waitEnd: Instant?
    }

    /// Returns the next vendor to query while the earlier vendors are slow.
    ///
    /// - Parameter isProtected: true if the route has an encrypted upstream, which precedes
    ///   unencrypted vendors.
    func nextVendor(_ vendors: RemainingVendors, isProtected: Bool) -> VendorClient? {
        guard let next = vendors.clients.first, next.facts.isProtected || !isProtected,
            next.isAvailable
        else { return nil }
        return next
    }

    /// True if the clients that wait for the name have used up their shares of a vendor's calls, so
    /// that the name waits in the vendor's queue.
    func waitsForShare(_ question: Question, _ match: RouteTable.Match) -> Bool {
        let parameters = match.route.options.parameters
        return match.route.vendors.contains {
            $0.waitsForShare(question.name, question.families, parameters)
        }
    }

    /// Returns the time before which the early fallback must not start; nil if it can start now.
    ///
    /// If a name has waited too long in a vendor's queue, also removes the name from this queue.
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
                isProtected: isProtected
                    || others.first.map { $0.facts.isProtected && $0.isAvailable } ?? false
            )
            if let end { return end }
            if !others.isEmpty, vendor.leaveQueue(question.name, question.families, parameters) {
                return clocks.now() + delay
            }
        }
        return nil
    }
}

extension VendorFailure {
    fileprivate var limit: VendorStage.Limit? {
        switch reason {
        case _ where reason.isOfClient: .ofClient
        case .pace, .busy: .ofVendor
        default: nil
        }
    }
}
