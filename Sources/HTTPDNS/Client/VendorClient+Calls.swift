// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - Calls

extension VendorClient {
    func begin(_ names: [PendingName], of client: ClientNetwork?, _ now: Instant) {
        let lookup = VendorQuery(
            names: Self.names(of: names),
            families: names[0].question.families,
            clientSubnet: settings.clientSubnet,
            parameters: names[0].question.parameters
        )
        guard case .servers(var order) = pool.takeOrder(now: now) else {
            preconditionFailure("no server although a call was permitted")
        }
        avoided.apply(to: &order, of: client, now: now, isHealthy: pool.isHealthy)
        if gate.isTrialDue(at: now) || pool.isReturnDue(now) { beginTrial() }
        var deadline: Instant?
        for name in names {
            for lookUp in name.lookUps {
                deadline = max(deadline ?? lookUp.deadline, lookUp.deadline)
            }
        }
        callsBegun += 1
        hedges.called(by: client)
        let call = VendorCall(
            callsBegun,
            lookup,
            names: names,
            of: client,
            course: course(order, until: deadline ?? now),
            start: now,
            suspectAt: now + suspicionTime
        )
        for name in names { name.call = call }
        insert(call)
        counters.batched += UInt64(names.count - 1)
        perform(call.course.begin(now: now), of: call, .first)
    }

    private static func names(of names: [PendingName]) -> [Name] {
        guard names.count > 1 else { return [names[0].question.name] }
        return names.map(\.question.name)
    }

    func course(_ order: [SocketAddress], until deadline: Instant) -> AttemptPlan {
        AttemptPlan(
            order: order,
            maximumServers: areAllUseless ? 1 : ClientLimits.serversPerCall,
            timeout: settings.timeout,
            hedgeAfter: settings.hedgeAfter,
            deadline: deadline
        )
    }

    func perform(_ move: AttemptPlan.Move?, of call: VendorCall, _ why: Trace.Why) {
        switch move {
        case .ask(let number, let server, let fresh, let until):
            ask(server, fresh ? .fresh : why, until: until, number, of: call)
        case .end: fail(call)
        case nil: break
        }
        arm(call)
    }

    func arm(_ call: VendorCall) {
        guard call.isInFlight else { return }
        var wake = call.course.wake
        if let suspectAt = call.suspectAt { wake = min(wake ?? suspectAt, suspectAt) }
        for name in call.names {
            for lookUp in name.lookUps { wake = min(wake ?? lookUp.deadline, lookUp.deadline) }
        }
        call.wake = wake
        if let wake { callAlarm.bring(forward: wake) }
    }

    func tickCalls() {
        let now = clocks.now()
        let due = calls.filter { $0.wake.map { $0 <= now } ?? false }
        for call in due.sorted(by: { $0.number < $1.number }) where call.isInFlight {
            tick(call)
        }
        callAlarm.set(calls.lazy.compactMap(\.wake).min())
    }

    private func tick(_ call: VendorCall) {
        let now = clocks.now()
        suspect(call, now)
        if call.course.isHedgeDue(at: now) { hedge(call, now) }
        let timeout = VendorError.transport(.timedOut(reused: false))
        let reason = call.running.isEmpty ? call.failed.last ?? .outOfTime : timeout
        for name in call.names {
            expire(name, now, VendorFailure(reason: reason))
        }
        if call.names.isEmpty, !call.isTrial, call.isInFlight {
            call.isExpired = !call.running.isEmpty
            end(call)
        } else {
            arm(call)
        }
    }

    private func hedge(_ call: VendorCall, _ now: Instant) {
        for running in call.running { pool.fellSilent(running.attempt) }
        guard call.isTrial || hedges.take(for: call.client, now: now) else {
            return call.course.stopHedging()
        }
        if !call.isTrial { call.hedges += 1 }
        // A health probe shows if the server is slow, or only the queried name.
        if pool.isCurrentSilent { beginTrial(of: call.client) }
        counters.hedges += 1
        perform(call.course.tick(now: now), of: call, .hedge)
    }

    private func fail(_ call: VendorCall) {
        let failure = VendorFailure(reason: call.failed.last ?? .outOfTime)
        let retriable = takeRetriable(from: call)
        for name in call.names { answer(name, failure) }
        if call.isTrial { trialFailed(call) }
        let isOfServers = failure.reason.verdict == .serverFailed && call.saturation == nil
        if call.course.isExhausted, isOfServers, call.isTrial || failure.reason.isOfConnection {
            schedule.serversFailed(now: clocks.now())
            armRefresh()
        }
        end(call)
        hold(retriable, of: call.client, failure)
    }

    func answer(_ name: PendingName, _ failure: VendorFailure) {
        for lookUp in takeLookUps(of: name) { finish(lookUp, .failure(failure)) }
    }

    func takeLookUps(of name: PendingName) -> ShortArray<PendingLookup> {
        let lookUps = name.lookUps
        name.lookUps = ShortArray()
        if let index = pending.index(forKey: name.question), pending.values[index] === name {
            pending.remove(at: index)
        }
        return lookUps
    }

    /// Ends a call; its requests continue, because their results show if servers are healthy.
    func end(_ call: VendorCall) {
        guard remove(call) else { return }
        for name in call.names { name.call = nil }
        call.course.abandon()
        if !call.isExpired { free(call) }
        if call === trial { trialEnded(call) }
        if !call.isTrial, !call.wasAnswered, call.course.isExhausted {
            avoided.forget(call.client)
        }
        if !call.running.isEmpty {
            lingering.insert(call)
            let others = lingering.filter { !$0.isExpired }
            let tries = others.reduce(0) { $0 + $1.running.count }
            if !call.isExpired, tries > ClientLimits.lingeringTries { giveUp(call) }
        }
        sendQueued()
    }

    func giveUp(_ call: VendorCall) {
        for running in call.running { running.request.cancel() }
    }
}
