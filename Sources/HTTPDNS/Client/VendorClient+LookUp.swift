// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

// MARK: - Start

extension VendorClient {
    /// Completion handler of `lookUp`.
    package typealias Completion = @ServiceLoop (Result<VendorReply, VendorFailure>) -> Void

    /// Looks up the addresses of `name` in one family; equal look-ups in flight share one call.
    ///
    /// A vendor that pairs families is always queried for both: the other family costs nothing,
    /// and clients usually query it next.
    ///
    /// - Parameter route: route to which a new call is charged.
    package func lookUp(
        _ name: Name,
        _ families: Families,
        route: String,
        deadline: Instant,
        trace: Trace? = nil,
        cancellation: CancellationSignal? = nil,
        _ completion: @escaping Completion
    ) {
        let question = BatchQueue.Question(
            name: name,
            families: facts.pairsFamilies ? .both : families
        )
        let lookUp = PendingLookup(question, start: clocks.now(), deadline: deadline, completion)
        counters.calls += 1
        if let reason = enqueue(
            lookUp,
            of: cancellation?.client as? ClientNetwork,
            wanted: families,
            route,
            trace
        ) {
            return finish(lookUp, .failure(VendorFailure(reason: reason, tries: [])))
        }
        cancellation?.whenCancelled { [self] in cancel(lookUp) }
    }

    /// Joins `lookUp` to a pending name, or queues the name or starts its call.
    ///
    /// - Returns: the reason of a rejection; nil if the look-up is pending.
    private func enqueue(
        _ lookUp: PendingLookup,
        of client: ClientNetwork?,
        wanted: Families,
        _ route: String,
        _ trace: Trace?
    ) -> VendorError? {
        let question = lookUp.question
        guard lookUp.start < lookUp.deadline else { return .outOfTime }
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
            }
            return nil
        }
        if let reason = refusal(lookUp.start) { return reason }
        guard queue.count < ClientLimits.queuedNames else { return .busy }
        let name = PendingName(question, of: client, wanted: wanted, route: route)
        name.lookUps = [lookUp]
        name.trace = trace
        pending[question] = name
        if queue.count == 0, hasPlace(for: client), !gathersNames {
            begin([name], question.families, lookUp.start)
        } else {
            queue.add(question, of: client)
            flushSoon(lookUp.deadline)
        }
        return nil
    }

    /// Returns the reason that forbids a client's call now, and counts it; nil if a call may start.
    func refusal(_ now: Instant) -> VendorError? {
        let obstacle = obstacle(now)
        switch obstacle {
        case .budget: budget.refused()
        case .pace: counters.failuresByKind[.pace, default: 0] += 1
        default: break
        }
        return obstacle
    }

    /// Returns the reason that forbids a call now; nil if a call may start.
    func obstacle(_ now: Instant) -> VendorError? {
        switch gate.refusal(now: now) {
        case .byOperator: return .paused
        case .byVendor(let error, _): return error
        case nil: break
        }
        if case .limited(let until) = pool.order(now: now) {
            return .limited(retryAfter: max(.zero, until - now))
        }
        if budget.forbids(wallSeconds: clocks.wallSeconds()) { return .budget }
        return pace.forbids(now: now) ? .pace : nil
    }
}

// MARK: - Queue

extension VendorClient {
    /// Starts calls for queued names, as far as the limit of calls in flight permits.
    ///
    /// By default, names share a call only while the limit is reached: the slowest name of a call
    /// delays the others, and one failure affects all. With `Batching.together`, names from the
    /// same turn of the service loop also share a call.
    ///
    /// - Parameter deadline: deadline of the look-up queued last.
    private func flushSoon(_ deadline: Instant) {
        guard hasPlace else {
            queueAlarm.bring(forward: deadline)
            return
        }
        guard gathersNames else { return sendQueued() }
        guard !isFlushing else { return }
        isFlushing = true
        ServiceLoop.task { [self] in
            isFlushing = false
            sendQueued()
        }
    }

    /// True if a name waits one loop turn for names to share its call.
    private var gathersNames: Bool { facts.maximumNames > 1 && settings.batching == .together }

    /// Starts calls for queued names, as many as the limits permit.
    func sendQueued() {
        while hasPlace,
            let (names, families) = queue.nextBatch(except: shares.full, fit: facts.canCarry)
        {
            let names = names.compactMap {
                pending[BatchQueue.Question(name: $0, families: families)]
            }
            let now = clocks.now()
            // The condition was checked on arrival, but may have changed while the names were
            // queued.
            if let reason = refusal(now) {
                for name in names {
                    answer(name, .failure(VendorFailure(reason: reason, tries: [])))
                }
            } else {
                begin(names, families, now)
            }
        }
        if queue.count == 0 { queueAlarm.set(nil) }
    }

    /// Fails queued look-ups after their deadline.
    func expireQueued() {
        let now = clocks.now()
        for name in Array(pending.values) where name.call == nil {
            expire(name, now, reason: .outOfTime, tries: [])
        }
        let queued = pending.values.lazy.filter { $0.call == nil }
        queueAlarm.set(queued.compactMap(\.firstDeadline).min())
    }
}

// MARK: - End

extension VendorClient {
    /// Completes one look-up and counts its result.
    func finish(_ lookUp: PendingLookup, _ result: Result<VendorReply, VendorFailure>) {
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

    /// Fails the look-ups of `name` after their deadline.
    func expire(
        _ name: PendingName,
        _ now: Instant,
        reason: VendorError,
        tries: [FailedTry]
    ) {
        let late = name.lookUps.filter { $0.deadline <= now }
        name.lookUps.removeAll { $0.deadline <= now }
        if name.lookUps.isEmpty { forget(name) }
        for lookUp in late {
            finish(lookUp, .failure(VendorFailure(reason: reason, tries: tries)))
        }
    }

    /// Cancels a look-up without a waiting client.
    ///
    /// The only look-up of a call in flight is not cancelled: the call is charged anyway, and its
    /// answer is stored in the cache.
    private func cancel(_ lookUp: PendingLookup) {
        guard let name = pending[lookUp.question],
            name.lookUps.contains(where: { $0 === lookUp }),
            name.call == nil || name.lookUps.count > 1
        else { return }
        name.lookUps.removeAll { $0 === lookUp }
        if name.lookUps.isEmpty { forget(name) }
        finish(lookUp, .failure(VendorFailure(reason: .transport(.cancelled), tries: [])))
    }

    /// Removes a name without look-ups from the queue or its call.
    func forget(_ name: PendingName) {
        if pending[name.question] === name {
            pending[name.question] = nil
            queue.remove(name.question)
        }
        name.call?.names.removeAll { $0 === name }
    }
}
