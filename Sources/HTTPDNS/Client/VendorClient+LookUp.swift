// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

// MARK: - Start

extension VendorClient {
    package typealias Outcome = Result<VendorReply, VendorFailure>

    /// Looks up the addresses of `name`; equal lookups in flight share one call.
    ///
    /// - Parameters:
    ///   - choice: setting `families` of the route; nil for the vendor's setting.
    ///   - mayFallBack: true if an upstream answers a name that waits too long (`fallback-after`).
    ///   - next: vendor that gets the name after a failure.
    package func lookUp(
        _ name: Name,
        _ families: Families,
        route: String,
        choice: FamilyChoice? = nil,
        parameters: RouteParameters? = nil,
        mayFallBack: Bool = false,
        next: VendorClient? = nil,
        deadline: Instant,
        trace: Trace? = nil,
        cancellation: CancellationSignal? = nil,
        _ completion: consuming Completion<Outcome>
    ) {
        let now = clocks.now()
        let account = cancellation?.account
        if account != nil, cancellation?.isAwaited == true, countsDemand {
            demand.note(name, families, now: now)
        }
        let question = question(name, families, choice, parameters, now: now)
        let lookUp = PendingLookup(
            question,
            start: now,
            deadline: deadline,
            hasNext: next.map { $0.facts.isProtected || !facts.isProtected } ?? false,
            completion
        )
        counters.calls += 1
        if let reason = enqueue(
            lookUp,
            of: account as? ClientNetwork,
            wanted: families,
            route,
            mayFallBack: mayFallBack,
            trace
        ) {
            let client = account as? ClientNetwork
            return finish(lookUp, .failure(failure(reason, of: [client])))
        }
        cancellation?.whenCancelled { [self] in cancel(lookUp) }
    }

    func question(
        _ name: Name,
        _ wanted: Families,
        _ choice: FamilyChoice?,
        _ parameters: RouteParameters?,
        now: Instant
    ) -> BatchQueue.Question {
        let own = BatchQueue.Question(name: name, families: wanted, parameters: parameters)
        if facts.pairsFamilies, !pending.isEmpty {
            let both = BatchQueue.Question(own, .both)
            if pending[both] != nil { return both }
            if pending[own] != nil { return own }
        }
        let families = families(name, wanted: wanted, choice, now: now)
        return families == wanted ? own : BatchQueue.Question(own, families)
    }

    private func enqueue(
        _ lookUp: PendingLookup,
        of client: ClientNetwork?,
        wanted: Families,
        _ route: String,
        mayFallBack: Bool,
        _ trace: Trace?
    ) -> VendorError? {
        let question = lookUp.question
        guard lookUp.start < lookUp.deadline else { return .outOfTime }
        if let client { note(client, now: lookUp.start) }
        if let name = pending[question] {
            if name.wanted == wanted { counters.merged += 1 } else { counters.paired += 1 }
            lookUp.wasMerged = true
            name.lookUps.append(lookUp)
            if let trace {
                trace.note("\(self.name): joins a call in flight")
                name.trace = trace
                name.call?.trace = trace
            }
            name.call?.course.extend(to: lookUp.deadline)
            if let call = name.call {
                arm(call)
            } else {
                queueAlarm.bring(forward: lookUp.deadline)
                queue.add(question, of: client, since: name.queuedAt)
                flushSoon()
            }
            return nil
        }
        if let reason = refusal(lookUp.start, of: client) { return reason }
        if queue.count > 0, let reason = queue.refusal(of: client) { return reason }
        let name = PendingName(question, wanted: wanted, route: route)
        name.lookUps.append(lookUp)
        name.trace = trace
        pending[question] = name
        if queue.count == 0, shares.admits(client), !gathersNames {
            begin([name], of: client, lookUp.start)
        } else {
            name.queuedAt = lookUp.start
            if mayFallBack { hasQueuedFallback = true }
            queueAlarm.bring(forward: lookUp.deadline)
            queue.add(question, of: client, since: lookUp.start)
            flushSoon()
        }
        return nil
    }

    /// Returns and counts the error that forbids a call of `client` now.
    func refusal(_ now: Instant, of client: ClientNetwork?) -> VendorError? {
        let obstacle =
            obstacle(now) ?? spentBudget(of: client, now) ?? excessRate(of: client, now)
        switch obstacle {
        case .budget, .clientBudget:
            budget.refused()
            tellOfBudget()
        case .pace, .clientPace: countFailure(.pace)
        default: break
        }
        return obstacle
    }

    /// Returns `clientBudget` if `client` has used up its share of the budget.
    ///
    /// The share is unlimited for the daemon itself (nil), and for the only client of the vendor.
    func spentBudget(of client: ClientNetwork?, _ now: Instant) -> VendorError? {
        guard settings.isBudgetStrict, let client, hasOthers(than: client, now) else {
            return nil
        }
        let wallSeconds = clocks.wallSeconds()
        let yields = mustYield(client, now)
        guard budget.forbids(client, yields: yields, wallSeconds: wallSeconds) else { return nil }
        if let rule = budget.rule, budget.tellsOfShare(wallSeconds: wallSeconds) {
            observer?(.shareSpent(rule))
        }
        return .clientBudget
    }

    func excessRate(of client: ClientNetwork?, _ now: Instant) -> VendorError? {
        guard settings.callsPerSecond != nil else { return nil }
        if pace.forbids(now: now) { return .pace }
        guard let client, hasOthers(than: client, now) else { return nil }
        let yields = mustYield(client, now)
        return pace.forbids(client, yields: yields, now: now) ? .clientPace : nil
    }

    /// Returns the error that forbids all calls and probes now.
    func obstacle(_ now: Instant) -> VendorError? {
        switch gate.refusal(now: now) {
        case .byOperator: return .paused
        case .byVendor(let error, _): return error
        case nil: break
        }
        if case .limited(let until) = pool.takeOrder(now: now) {
            return pool.refusal ?? .limited(retryAfter: max(.zero, until - now))
        }
        guard settings.isBudgetStrict else { return nil }
        return budget.forbids(wallSeconds: clocks.wallSeconds()) ? .budget : nil
    }
}

// MARK: - Queue

extension VendorClient {
    func flushSoon() {
        guard shares.free > 0 else { return suspectCalls() }
        guard gathersNames else { return sendQueued() }
        sendQueuedSoon()
    }

    func sendQueuedSoon() {
        guard !isFlushing else { return }
        isFlushing = true
        ServiceLoop.task { [self] in
            isFlushing = false
            sendQueued()
        }
    }

    package var largestCost: UInt64 {
        let names = [Name](repeating: .root, count: gathersNames ? facts.maximumNames : 1)
        let units = price.total(VendorQuery(names: names, families: .both))
        return max(1, min(units, UInt64(UInt32.max)))
    }

    private var gathersNames: Bool { facts.maximumNames > 1 && settings.batching == .together }

    /// Starts or refuses calls for queued names, up to ``ClientLimits/batchesPerIteration``.
    func sendQueued() {
        guard !isSending else { return }
        isSending = true
        defer { isSending = false }
        var count = 0
        while !isFlushing, queue.count > 0 {
            let now = clocks.now()
            let limit = settings.batching == .off ? 1 : facts.maximumNames
            guard let batch = queue.nextBatch(shares, now: now, facts, limit: limit) else { break }
            if let reason = refusal(now, of: batch.client) {
                refuse(batch, reason, now)
            } else {
                call(batch, now)
            }
            count += 1
            if count == ClientLimits.batchesPerIteration { sendQueuedSoon() }
        }
        if queue.count == 0 {
            queueAlarm.set(held.isEmpty ? nil : held.firstDeadline)
            hasQueuedFallback = false
        } else if !isFlushing {
            suspectCalls()
        }
    }

    private func call(_ batch: BatchQueue.Batch, _ now: Instant) {
        var names: [PendingName] = []
        var late: [(name: PendingName, failure: VendorFailure)] = []
        for index in batch.questions.indices {
            guard let name = pending[batch.questions[index]] else { continue }
            guard isTooLate(name, now) else {
                names.append(name)
                continue
            }
            let clients = batch.others[index].union([batch.client])
            let reason = waitReason(of: clients, free: shares.free - 1)
            late.append((name, failure(reason, of: clients, beginning: batch.client)))
        }
        // The call begins first: `answer` calls completion handlers, and these can start other
        // lookups at this vendor (DNS64) that use up the concurrent calls.
        if !names.isEmpty { begin(names, of: batch.client, now) }
        for (name, failure) in late { answer(name, failure) }
    }

    /// A name is never too late if its deadline is at least ``VendorLimits/fairWait`` away.
    ///
    /// Otherwise, a client that queries slow names could increase the median latency so much that
    /// other clients get no calls.
    private func isTooLate(_ name: PendingName, _ now: Instant) -> Bool {
        guard let deadline = name.lastDeadline, deadline - now < VendorLimits.fairWait else {
            return false
        }
        let usual = record(of: pool.current)?.latency.median ?? ClientLimits.assumedLatency
        return deadline - now < usual * 2
    }

    /// If the reason concerns only the client of the call, names of other clients stay queued.
    private func refuse(_ batch: BatchQueue.Batch, _ reason: VendorError, _ now: Instant) {
        var refused: [PendingName] = []
        for (question, others) in zip(batch.questions, batch.others) {
            let permitted = reason.isOfClient ? others.filter { isPermitted($0, now) } : []
            guard let name = pending[question] else { continue }
            for other in permitted { queue.add(question, of: other, since: name.queuedAt) }
            if permitted.isEmpty { refused.append(name) }
        }
        for name in refused {
            answer(name, VendorFailure(reason: reason))
        }
    }

    private func isPermitted(_ client: ClientNetwork?, _ now: Instant) -> Bool {
        spentBudget(of: client, now) == nil && excessRate(of: client, now) == nil
    }

    func expireQueued() {
        let now = clocks.now()
        for name in Array(pending.values) where name.call == nil {
            guard let first = name.firstDeadline, first <= now else { continue }
            let clients = queue.clients(of: name.question)
            let all = clients ?? held.client(of: name)
            expire(name, now, failure(waitReason(of: clients), of: all))
        }
        let queued = pending.values.lazy.filter { $0.call == nil }
        let next = queued.compactMap(\.firstDeadline).min()
        // The alarm has a minimum delay, so that lookups with similar deadlines expire together.
        queueAlarm.set(next.map { max($0, now + ClientLimits.queueGrain) })
    }
}

// MARK: - End

extension VendorClient {
    func finish(_ lookUp: PendingLookup, _ result: Outcome) {
        guard let completion = lookUp.end() else { return }
        switch result {
        case .success(let reply) where reply.answer.isEmpty: counters.empty += 1
        case .success: counters.successes += 1
        case .failure(let failure) where failure.reason == .transport(.cancelled):
            counters.cancelled += 1
        case .failure: counters.failures += 1
        }
        completion(result)
    }

    func expire(_ name: PendingName, _ now: Instant, _ failure: VendorFailure) {
        let late = name.lookUps.filter { $0.deadline <= now }
        name.lookUps.removeAll { $0.deadline <= now }
        if name.lookUps.isEmpty { forget(name) }
        for lookUp in late { finish(lookUp, .failure(failure)) }
    }

    /// Cancels a lookup.
    ///
    /// Exception: while a call for a name is in flight, the last lookup of the name is not
    /// cancelled, because the call is already charged.
    private func cancel(_ lookUp: PendingLookup) {
        guard let name = pending[lookUp.question],
            name.lookUps.contains(where: { $0 === lookUp }),
            name.call == nil || name.lookUps.count > 1
        else { return }
        name.lookUps.removeAll { $0 === lookUp }
        if name.lookUps.isEmpty { forget(name) }
        finish(lookUp, .failure(VendorFailure(reason: .transport(.cancelled))))
    }

    func forget(_ name: PendingName) {
        if pending[name.question] === name {
            pending[name.question] = nil
            queue.remove(name.question)
        }
        name.call?.names.removeAll { $0 === name }
        name.call = nil
    }
}
