// SPDX-License-Identifier: Apache-2.0
internal import Net

// MARK: - Other settings

extension VendorClient {
    /// Takes over the state of `old`, the client of this vendor under earlier settings.
    ///
    /// Calls in flight continue in `old`, but count in the statistics of this client.
    package func takeOver(from old: VendorClient, hasSameAccount: Bool) {
        old.settlePredecessor()
        predecessor = old
        gate.isPausedByOperator = old.gate.isPausedByOperator
        costs = old.costs
        if settings.clientSubnet == old.settings.clientSubnet { clientAddress = old.clientAddress }
        if hasSameAccount {
            budget.takeOver(from: &old.budget)
            pace.takeOver(from: old.pace)
            hedges.takeOver(from: old.hedges)
            avoided.takeOver(from: old.avoided)
            clients = old.clients
            skew.takeOver(from: old.skew)
        }
        settlePredecessor()
    }

    func settlePredecessor() {
        guard let old = predecessor else { return }
        old.settlePredecessor()
        guard old.predecessor == nil, old.isIdle else { return }
        var last = old.counters
        last.skewRepairs += old.skew.repairs
        var sum = counters
        sum.add(last)
        counters = sum
        predecessor = nil
    }

    private var isIdle: Bool {
        pending.isEmpty && calls.isEmpty && lingering.isEmpty
    }

    package func renameRoutes(_ name: (String) -> String) {
        var costsByRoute: [String: UInt64] = [:]
        for (route, names) in counters.billableByRoute {
            costsByRoute[name(route), default: 0] += names
        }
        counters.billableByRoute = costsByRoute
        var unitsByRoute: [String: UnitRange] = [:]
        for (route, units) in counters.unitsByRoute {
            unitsByRoute[name(route), default: .zero] += units
        }
        counters.unitsByRoute = unitsByRoute
        costs.rename(name)
        predecessor?.renameRoutes(name)
    }
}

extension VendorStatistics {
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
        units += others.units
        unitsAtAdvisedTTL += others.unitsAtAdvisedTTL
        unitsForV6 += others.unitsForV6
        unitsByRoute.merge(others.unitsByRoute, uniquingKeysWith: +)
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
