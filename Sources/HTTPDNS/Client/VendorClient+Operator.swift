// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - External events

extension VendorClient {
    /// Reports a spent budget, and starts the refresh of server addresses.
    package func start() {
        tellOfBudget()
        guard source != nil else { return }
        schedule.start(now: clocks.now())
        armRefresh()
    }

    /// Stops the refresh of server addresses, and releases the unused reservation of the budget.
    package func stop() {
        schedule.stop()
        refresh?.cancel()
        refresh = nil
        refreshAlarm.set(nil)
        budget.release(wallSeconds: clocks.wallSeconds())
    }

    package func pause() {
        gate.isPausedByOperator = true
    }

    /// Permits calls again after a pause by the operator, a refusal of the account, or a 429.
    package func resume() {
        gate.resume()
        pool.resume()
        silence.reset()
        shares.restore()
        hedges.reset()
        avoided.reset()
        dropTrial(clocks.now())
    }

    /// Nil removes the limit.
    package func shareBudget(_ share: Budget.Share?) { budget.share = share }

    package var budgetRule: Budget.Rule? { budget.rule }

    package func budgetUse() -> UsageRecord? { budget.usage(wallSeconds: clocks.wallSeconds()) }

    /// Restarts all calls in flight in the next iteration of the service loop.
    ///
    /// Before the next iteration, the owner of the transport must drop the connections of the
    /// transport.
    @discardableResult
    package func networkChanged() -> Int {
        let now = clocks.now()
        pool.networkChanged(now: now)
        gate.networkChanged(now: now)
        silence.reset()
        shares.restore()
        hedges.reset()
        avoided.reset()
        clientAddress = nil
        dropTrial(now)
        let abandoned = lingering
        lingering = []
        for call in abandoned {
            dropTries(of: call, now)
            if call.isExpired { free(call) }
        }
        if queue.count > 0 { sendQueuedSoon() }
        let underWay = calls
        for call in underWay { reissue(call, now) }
        refresh?.cancel()
        refresh = nil
        schedule.networkChanged(now: now)
        armRefresh()
        return underWay.count
    }

    /// Sends a call again; after ``ClientLimits/restarts`` restarts, the call fails instead.
    private func reissue(_ call: VendorCall, _ now: Instant) {
        dropTries(of: call, now)
        guard case .servers(var order) = pool.order(now: now) else { return }
        if call.restarts < ClientLimits.restarts {
            counters.reissued += 1
            call.restarts += 1
        } else {
            order = []
        }
        (call.saturation, call.hasOtherFailure) = (nil, false)
        call.course = course(order, until: call.course.deadline)
        call.start = now
        call.suspectAt = now + suspicionTime
        let round = call.round
        ServiceLoop.task { [self] in
            guard call.isInFlight, call.round == round else { return }
            perform(call.course.begin(now: clocks.now()), of: call, .next)
        }
    }

    func dropTries(of call: VendorCall, _ now: Instant) {
        let old = call.running
        call.running = ShortArray()
        call.round += 1
        for running in old {
            running.request.cancel()
            note(pool.end(running.attempt, .unjudged, now: now))
        }
    }
}

// MARK: - Servers' addresses

extension VendorClient {
    func armRefresh() {
        guard source != nil else { return }
        refreshAlarm.set(schedule.due)
    }

    func refreshAddresses() {
        let now = clocks.now()
        guard let source, let due = schedule.due, due <= now else { return }
        askForAddresses(schedule.began(now: now), source.servers[...])
    }

    private func askForAddresses(_ number: Int, _ servers: ArraySlice<SocketAddress>) {
        guard let server = servers.first else { return }
        let exchange = Exchange(
            ScheduleInquiry(server: server),
            with: self,
            .first,
            until: clocks.now() + settings.timeout
        ) { [self] result in
            switch result {
            case .success(let addresses):
                refreshed(number, addresses)
            case .failure(.transport(.cancelled)):
                break
            case .failure(let error):
                if servers.count > 1 {
                    askForAddresses(number, servers.dropFirst())
                } else {
                    refreshFailed(number, error)
                }
            }
        }
        refresh = exchange
        exchange.begin()
    }

    private func refreshed(_ number: Int, _ addresses: ServiceAddresses) {
        let now = clocks.now()
        guard schedule.succeeded(number, validFor: addresses.validFor, now: now) else { return }
        counters.refreshes += 1
        counters.refreshedAt = now
        counters.refreshError = nil
        if pool.schedule(addresses.servers, now: now) { beginTrial() }
        let servers = Set(pool.servers)
        records = records.filter { servers.contains($0.key) }
        armRefresh()
        observer?(.servers(addresses.servers))
    }

    private func refreshFailed(_ number: Int, _ error: VendorError) {
        counters.refreshFailures += 1
        counters.refreshError = error
        schedule.failed(number, now: clocks.now())
        armRefresh()
        observer?(.noServers(error))
    }
}

private struct ScheduleInquiry: VendorRequest {
    let server: SocketAddress
    let charges = ShortArray<CostTable.Charge>()
    let query: VendorQuery? = nil
    let client: ClientNetwork? = nil
    let isPaced = false

    func request(
        to vendor: any Vendor,
        now wallSeconds: Int64,
        entropy: Entropy
    ) throws(VendorError) -> HTTPRequest {
        try service(of: vendor).scheduleRequest(at: server, now: wallSeconds, entropy: entropy)
    }

    func answers(in value: ServiceAddresses) -> [VendorAnswer] { [] }

    func text(_ addresses: ServiceAddresses) -> String {
        addresses.servers.map { "\($0)" }.joined(separator: " ")
    }

    func value(in reply: HTTPReply, of vendor: any Vendor) throws(VendorError) -> ServiceAddresses {
        try service(of: vendor).servers(in: reply, from: server)
    }

    private func service(of vendor: any Vendor) -> any AddressScheduling {
        guard let scheduling = vendor.scheduling else {
            preconditionFailure("the vendor has no scheduling service")
        }
        return scheduling
    }
}

// MARK: - Numbers

extension VendorClient {
    package var statistics: VendorStatistics {
        let now = clocks.now()
        settlePredecessor()
        var statistics = counters
        if let predecessor { statistics.add(predecessor.statistics) }
        statistics.isProtected = facts.isProtected
        statistics.clockSkew = skew.offset.map { .seconds($0) }
        statistics.skewRepairs += skew.repairs
        statistics.refusedClockSkew = skew.refusedOffset.map { .seconds($0) }
        let wallSeconds = clocks.wallSeconds()
        statistics.budget = budget.rule
        statistics.usage = budget.usage(wallSeconds: wallSeconds)
        statistics.price = price
        statistics.clientAddress = clientAddress
        statistics.usageProblem = budget.problem
        statistics.isBudgetSpent = budget.isExhausted(wallSeconds: wallSeconds)
        statistics.dayEndsIn = .seconds(Budget.secondsLeft(wallSeconds: wallSeconds))
        statistics.budgetStartsIn = .seconds(budget.secondsSpent(wallSeconds: wallSeconds))
        statistics.beyondBudget = budget.exceeded
        statistics.refreshesAddresses = source != nil
        statistics.inFlight += clientCalls
        statistics.queued += queue.count
        statistics.state = state(now)
        statistics.servers = pool.servers.map { address in
            let record = records[address]
            var server = record?.statistics ?? ServerStatistics(address: address)
            server.medianLatency = record?.latency.median
            server.isCurrent = address == pool.current
            server.limitedUntil = pool.openUntil(address).flatMap { $0 > now ? $0 : nil }
            return server
        }
        return statistics
    }

    private func state(_ now: Instant) -> VendorStatistics.State {
        switch gate.refusal(now: now) {
        case .byOperator: return .paused
        case .byVendor(let error, let until): return .refused(error, until: until)
        case nil: break
        }
        if case .limited(let until) = pool.order(now: now) {
            return pool.refusal.map { .refused($0, until: until) } ?? .limited(until: until)
        }
        guard budget.forbids(wallSeconds: clocks.wallSeconds()) else { return .open }
        return .overBudget(problem: budget.unknownBecause)
    }

    package func costliestNames(_ count: Int) -> [CostTable.Entry] { costs.top(count) }

    package func resetUsage() throws(UsageStoreError) {
        try budget.reset(wallSeconds: clocks.wallSeconds())
    }

    package func forgetCosts() {
        costs.removeAll()
    }
}
