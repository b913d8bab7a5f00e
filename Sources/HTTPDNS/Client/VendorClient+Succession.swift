// SPDX-License-Identifier: Apache-2.0
internal import Net

// MARK: - Other settings

extension VendorClient {
    /// Takes the place of the client of a vendor whose settings have changed.
    ///
    /// What the operator and the bill know of the vendor goes on: whether it is paused, what was
    /// counted, which names cost how much.  What was learnt of its servers begins anew, as it was
    /// learnt under other terms.  The calls of the old client end there, and are counted here, too.
    ///
    /// - Parameter hasSameAccount: whether what was spent today counts against the budget.
    package func takeOver(from old: VendorClient, hasSameAccount: Bool) {
        old.settlePredecessor()
        predecessor = old
        gate.isPausedByOperator = old.gate.isPausedByOperator
        costs = old.costs
        if hasSameAccount {
            budget.takeOver(from: old.budget)
            pace.takeOver(from: old.pace)
            skew.takeOver(from: old.skew)
        }
        // With nothing under way it goes at once, and its keys with it.
        settlePredecessor()
    }

    /// Adds the counters of the client before to ours once they do not change any more.
    func settlePredecessor() {
        guard let old = predecessor else { return }
        old.settlePredecessor()
        guard old.predecessor == nil, old.isIdle else { return }
        var last = old.counters
        last.skewRepairs += old.skew.repairs
        counters.add(last)
        predecessor = nil
    }

    /// Whether nothing of this client is under way.
    private var isIdle: Bool {
        pending.isEmpty && calls.isEmpty && lingering.isEmpty
    }

    /// Lets what was counted by route be called as routes are called now.
    ///
    /// - Parameter name: the present name of a route with this one.
    package func renameRoutes(_ name: (String) -> String) {
        var costsByRoute: [String: UInt64] = [:]
        for (route, names) in counters.billableByRoute {
            costsByRoute[name(route), default: 0] += names
        }
        counters.billableByRoute = costsByRoute
        costs.rename(name)
        predecessor?.renameRoutes(name)
    }
}

extension VendorStatistics {
    /// Adds what was counted, and what is under way, to these; what only describes a moment stays.
    mutating func add(_ others: VendorStatistics) {
        calls += others.calls
        successes += others.successes
        empty += others.empty
        failures += others.failures
        cancelled += others.cancelled
        tries += others.tries
        billable += others.billable
        billableNames += others.billableNames
        billableByRoute.merge(others.billableByRoute, uniquingKeysWith: +)
        failuresByKind.merge(others.failuresByKind, uniquingKeysWith: +)
        droppedAddresses += others.droppedAddresses
        connectionsOpened += others.connectionsOpened
        connectionsReused += others.connectionsReused
        switches += others.switches
        returns += others.returns
        hedges += others.hedges
        freshRetries += others.freshRetries
        reissued += others.reissued
        merged += others.merged
        paired += others.paired
        batched += others.batched
        skewRepairs += others.skewRepairs
        refreshes += others.refreshes
        refreshFailures += others.refreshFailures
        inFlight += others.inFlight
        queued += others.queued
    }
}
