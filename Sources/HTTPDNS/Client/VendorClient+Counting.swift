// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - Counting

extension VendorClient {
    /// Charges a request before it is sent; returns nil for a free request.
    ///
    /// - Throws: `pace`, `budget`, `clientPace` or `clientBudget` if the request must not be sent.
    func pay(
        _ question: some VendorRequest,
        by other: PriceModel? = nil
    ) throws(VendorError) -> Budget.Receipt? {
        guard let query = question.query else { return nil }
        let now = clocks.now()
        if question.isPaced, let error = excessRate(of: question.client, now) { throw error }
        if let error = spentBudget(of: question.client, now) { throw error }
        let wallSeconds = clocks.wallSeconds()
        let receipt = budget.spend(
            units: other?.total(query) ?? price.total(query),
            by: question.client,
            wallSeconds: wallSeconds
        )
        tellOfBudget()
        guard let receipt else { throw .budget }
        if settings.callsPerSecond != nil { pace.spend(by: question.client, now: now) }
        counters.tries += 1
        update(question.server) { $0.statistics.tries += 1 }
        return receipt
    }

    func tellOfBudget() {
        guard let rule = settings.budget, budget.tells(wallSeconds: clocks.wallSeconds()) else {
            return
        }
        observer?(budget.unknownBecause.map { .usageUnknown($0, rule) } ?? .budgetSpent(rule))
    }

    func noteReply(_ reply: HTTPReply, _ question: some VendorRequest) {
        guard !question.charges.isEmpty else { return }
        record(of: question.server)?.latency.note(reply.duration)
        if reply.connectionReused {
            counters.connectionsReused += 1
        } else {
            counters.connectionsOpened += 1
        }
    }

    /// - Parameter refunds: false if the reply can be forged: after a forged refusal, the vendor
    ///   may bill the call.
    func settle(
        _ question: some VendorRequest,
        _ receipt: Budget.Receipt,
        _ fate: PriceModel.Fate,
        mayBeBilled: Bool,
        refunds: Bool,
        by other: PriceModel? = nil
    ) -> UnitRange {
        guard let query = question.query else { return .zero }
        let units = other?.units(of: query, fate) ?? price.units(of: query, fate)
        let sum = units.reduce(.zero, +)
        let actual = UsageAmount(calls: mayBeBilled ? 1 : 0, units: sum.atMost)
        if refunds { budget.settle(receipt, actual: actual, wallSeconds: clocks.wallSeconds()) }
        guard mayBeBilled else { return sum }
        counters.units += sum
        counters.unitsAtAdvisedTTL += Double(sum.atMost) * fate.shareAtAdvisedTTL
        if (other?.item ?? price.item) == .family, query.families.includesV6 {
            var query = query
            query.families = .v6
            let price = other ?? price
            counters.unitsForV6 += price.units(of: query, fate).reduce(.zero, +).atMost
        }
        // A change in place would need run-time exclusivity checks at all accesses to `counters`.
        var unitsByRoute: [String: UnitRange] = [:]
        swap(&unitsByRoute, &counters.unitsByRoute)
        for (charge, units) in zip(question.charges, units) {
            unitsByRoute[charge.route, default: .zero] += units
        }
        swap(&unitsByRoute, &counters.unitsByRoute)
        guard facts.isBillable else { return sum }
        counters.billable += 1
        counters.billableNames += UInt64(question.charges.count)
        var billableByRoute: [String: UInt64] = [:]
        swap(&billableByRoute, &counters.billableByRoute)
        for (charge, units) in zip(question.charges, units) {
            costs.note(charge, units: units.atMost)
            billableByRoute[charge.route, default: 0] += 1
        }
        swap(&billableByRoute, &counters.billableByRoute)
        return sum
    }

    func countFailure(_ kind: VendorError.Kind) {
        var failures: [VendorError.Kind: UInt64] = [:]
        swap(&failures, &counters.failuresByKind)
        failures[kind, default: 0] += 1
        swap(&failures, &counters.failuresByKind)
    }

    func noteFailure(of server: SocketAddress, _ error: VendorError, _ now: Instant) {
        countFailure(error.kind)
        guard error.verdict != .notTheServer else { return }
        update(server) {
            $0.statistics.failures += 1
            $0.statistics.lastError = error
            $0.statistics.lastErrorAt = now
        }
    }

    /// Counts a failure that the queried name cannot have caused.
    func noteOutage(of server: SocketAddress) {
        update(server) { $0.statistics.failuresInRow += 1 }
    }

    func note(_ change: EndpointPool.Change?, for trace: Trace? = nil) {
        switch change {
        case .switched: counters.switches += 1
        case .returned: counters.returns += 1
        case nil: return
        }
        trace?.note("\(name): \(pool.current) is now the preferred server")
    }

    private func update(_ server: SocketAddress, _ change: (ServerRecord) -> Void) {
        if let record = record(of: server) { return change(record) }
        let record = ServerRecord(server)
        change(record)
        records[server] = record
    }
}

extension PriceModel.Fate {
    /// Estimated fraction (0…1) of the units that the vendor would still bill if the minimum TTL
    /// were ``ClientLimits/advisedTTL``.
    ///
    /// Assumes that clients query the name again as soon as its answer expires.
    fileprivate var shareAtAdvisedTTL: Double {
        guard case .answered(let answers) = self else { return 1 }
        var ttl = UInt32.max
        for answer in answers {
            if let v4 = answer.v4, !v4.addresses.isEmpty { ttl = min(ttl, v4.ttl) }
            if let v6 = answer.v6, !v6.addresses.isEmpty { ttl = min(ttl, v6.ttl) }
        }
        return min(1, Double(max(1, ttl)) / Self.advisedTTL)
    }

    private static let advisedTTL = Double(ClientLimits.advisedTTL.components.seconds)
}

extension VendorError {
    /// A reply with a status other than 200 is free.
    func fate(_ mayBeBilled: Bool) -> PriceModel.Fate {
        if case .serverStatus(let status, _) = self, status != 200 { return .free }
        return mayBeBilled ? .unknown : .free
    }

    var vendorSeconds: Int64? {
        if case .wrongTime(_, _, let seconds) = self { seconds } else { nil }
    }
}
