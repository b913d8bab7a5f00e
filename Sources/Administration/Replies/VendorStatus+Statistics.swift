// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import HTTPDNS
internal import Net

extension VendorStatus {
    /// A server has failed if a connection or a probe failed after its latest answer.
    ///
    /// Other failures are ignored here, because a single name can cause them.
    init(_ settings: VendorSettings, _ statistics: VendorStatistics, now: Instant) {
        self.init(
            name: settings.name,
            kind: settings.account.kind.rawValue,
            channel: settings.account.channel
        )
        protected = statistics.isProtected
        calls = statistics.tries
        billableCalls = statistics.billable
        connectionsOpened = statistics.connectionsOpened
        connectionsReused = statistics.connectionsReused
        clockSkewSeconds = statistics.clockSkew.map { Int($0.components.seconds) }
        refusedClockSkewSeconds = statistics.refusedClockSkew.map { Int($0.components.seconds) }
        rest = VendorRest(statistics, now: now)
        budget = BudgetStatus(statistics)
        units = BilledUnits(statistics)
        cost = BilledCost(statistics)
        clientAddress = statistics.clientAddress.map { "\($0)" }
        clientSubnet = settings.client.clientSubnet.map { "\($0)" }
        if statistics.refreshesAddresses {
            refresh = AddressRefresh(
                count: statistics.refreshes,
                failures: statistics.refreshFailures,
                lastAgeSeconds: statistics.refreshedAt.map { now.seconds(since: $0) },
                error: statistics.refreshError.map { "\($0)" }
            )
        }
        servers = statistics.servers.map { VendorServer($0, now: now) }
        state = health
    }

    private var health: HealthStatus {
        switch rest?.by {
        case .operator: .paused
        case .account, .limit: .down
        case .budget: .degraded
        case nil:
            if servers.allSatisfy({ $0.state == .down }) {
                .down
            } else {
                servers.contains { $0.current && $0.state == .down } ? .degraded : .up
            }
        }
    }

    var problem: String? {
        switch rest?.by {
        case .operator: nil
        case .account where refusedClockSkewSeconds != nil:
            "vendor \(name): account refused: the clocks of the vendor and this machine differ by "
                + "\((refusedClockSkewSeconds ?? 0).magnitude) s, which the daemon cannot correct; "
                + "set the clock of this machine (NTP)"
        case .account:
            "vendor \(name): account refused: \(rest?.error ?? ""); correct the account, then run "
                + "`httpdnsctl resume \(name)`"
        case .limit: "vendor \(name): backing off: all servers returned HTTP 429"
        case .budget:
            if let problem = rest?.error {
                "vendor \(name): not called, because the budget cannot be checked: \(problem)"
            } else {
                "vendor \(name): \(budget?.title ?? "budget") spent; no calls until the budget "
                    + "restarts (next day or month, UTC), or until you raise "
                    + "`vendors.\(name).budget`"
            }
        case nil where state == .up: nil
        case nil where state == .degraded:
            "vendor \(name): \(servers.count { $0.state == .down }) of \(servers.count) servers "
                + "failed: \(currentError)"
        case nil: "vendor \(name): not responding: \(currentError)"
        }
    }

    private var currentError: String { servers.first(where: \.current)?.lastError ?? "" }
}

extension VendorRest {
    /// Nil if the vendor is used.
    init?(_ statistics: VendorStatistics, now: Instant) {
        switch statistics.state {
        case .open: return nil
        case .paused: self.init(by: .operator)
        case .refused(let error, let until):
            self.init(by: .account, forSeconds: until.seconds(from: now), error: "\(error)")
        case .limited(let until): self.init(by: .limit, forSeconds: until.seconds(from: now))
        case .overBudget(let problem?): self.init(by: .budget, error: problem)
        case .overBudget(nil):
            let left = statistics.budgetStartsIn
            self.init(by: .budget, forSeconds: Int(left.components.seconds))
        }
    }
}

extension BudgetStatus {
    init?(_ statistics: VendorStatistics) {
        guard let rule = statistics.budget else { return nil }
        self.init(dayEndsSeconds: Int(statistics.dayEndsIn.components.seconds))
        callsPerDay = rule.callsPerDay
        unitsPerDay = rule.unitsPerDay
        unitsPerMonth = rule.unitsPerMonth
        spentToday = statistics.usage?.callsToday ?? 0
        unitsToday = statistics.usage?.unitsToday
        unitsThisMonth = statistics.usage?.unitsThisMonth
        beyond = statistics.beyondBudget
        if statistics.isBudgetSpent { state = rule.onExceeded == .warn ? .exceeded : .spent }
        problem = statistics.usageProblem
        if rule.isShared { shared = true }
    }
}

extension BudgetStatus {
    fileprivate var title: String { text + (shared == true ? " of the fleet" : "") }

    private var text: String {
        if let limit = unitsPerMonth, (unitsThisMonth ?? 0) >= limit {
            "monthly budget of \(limit) units"
        } else if let limit = unitsPerDay, (unitsToday ?? 0) >= limit {
            "daily budget of \(limit) units"
        } else if let limit = callsPerDay {
            "daily budget of \(limit) calls"
        } else {
            "budget"
        }
    }
}

extension BilledUnits {
    init(_ statistics: VendorStatistics) {
        self.init(
            atLeast: statistics.units.atLeast,
            atMost: statistics.units.atMost,
            today: statistics.usage?.unitsToday,
            month: statistics.usage?.unitsThisMonth
        )
    }
}

extension BilledCost {
    init?(_ statistics: VendorStatistics) {
        guard let units = statistics.usage?.unitsThisMonth,
            let cost = statistics.price.cost(ofMonth: units)
        else { return nil }
        self.init(cost)
    }

    /// Nil if the price or the usage is unknown.
    ///
    /// - Parameter isSpent: true if the usage of the month includes `units`, false for new units.
    init?(_ units: UInt64, isSpent: Bool, _ statistics: VendorStatistics) {
        guard let month = statistics.usage?.unitsThisMonth else { return nil }
        let used = isSpent ? month - min(month, units) : month
        guard let cost = statistics.price.cost(of: units, after: used) else { return nil }
        self.init(cost)
    }

    /// Nil if there are no costs, a cost is unknown, or the currencies differ.
    init?(sum costs: [BilledCost?]) {
        let known = costs.compactMap(\.self)
        guard let first = known.first, known.count == costs.count,
            known.allSatisfy({ $0.currency == first.currency })
        else { return nil }
        self.init(PriceModel.Price(per10000: known.reduce(0) { $0 + $1.amount }, first.currency))
    }

    /// Rounds to 10⁻⁹ to hide binary rounding errors of the sum.
    private init(_ price: PriceModel.Price) {
        self.init(
            amount: (price.amount * 1_000_000_000).rounded() / 1_000_000_000,
            currency: price.currency
        )
    }
}

extension PauseReply {
    @ServiceLoop
    init(_ client: VendorClient, changed: Bool, now: Instant) {
        let statistics = client.statistics
        self.init(
            vendor: client.name,
            changed: changed,
            inFlight: statistics.inFlight,
            rest: VendorRest(statistics, now: now)
        )
    }
}

extension VendorServer {
    fileprivate init(_ server: ServerStatistics, now: Instant) {
        var reply = Self(address: "\(server.address)", current: server.isCurrent)
        let isResting = server.limitedUntil.map { now < $0 } ?? false
        reply.state = server.failuresInRow > 0 || isResting ? .down : .up
        reply.calls = server.tries
        reply.failures = server.failures
        reply.latencyMsP50 = server.medianLatency?.inMilliseconds
        reply.lastError = server.lastError.map { "\($0)" }
        reply.lastErrorAgeSeconds = server.lastErrorAt.map { now.seconds(since: $0) }
        self = reply
    }
}
