// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - Tries

extension VendorClient {
    func ask(
        _ server: SocketAddress,
        _ why: Trace.Why,
        until: Instant,
        _ number: Int,
        of call: VendorCall
    ) {
        let now = clocks.now()
        guard let attempt = pool.begin(server, isTrial: call.isTrial, now: now) else {
            let error = pool.pauseError(server, now: now)
            call.trace?.note("\(name) \(server): not queried, circuit breaker open (\(error))")
            call.failed.append(error)
            perform(call.course.failed(number, .server, now: now), of: call, .next)
            return
        }
        let round = call.round
        let exchange = Exchange(
            AddressInquiry(
                lookup: call.lookup,
                server: server,
                charges: call.charges,
                client: call.client,
                isPaced: !call.isTrial
            ),
            with: self,
            why,
            until: until,
            trace: call.trace
        ) { [self] result in
            guard call.round == round else { return }
            ended(number, of: call, result)
        }
        call.running.append(
            VendorCall.RunningTry(
                number: number,
                attempt: attempt,
                request: exchange,
                start: now,
                until: until
            )
        )
        exchange.begin()
    }

    private func ended(
        _ number: Int,
        of call: VendorCall,
        _ result: Result<[VendorAnswer], VendorError>
    ) {
        guard let running = call.takeTry(number) else { return }
        defer {
            if call.running.isEmpty, !lingering.isEmpty, lingering.remove(call) != nil,
                call.isExpired
            {
                free(call)
                sendQueued()
            }
        }
        switch result {
        case .success(let answers):
            let now = clocks.now()
            areAllUseless = false
            let isFirst = call.course.answered(number)
            let record = record(of: running.attempt.server)
            record?.statistics.failuresInRow = 0
            record?.answeredAt = now
            if queue.count > 0 { shares.grow(now: now) }
            let outcome = isFirst ? EndpointPool.Outcome.answered : .answeredLate
            note(pool.end(running.attempt, outcome, now: now), for: call.trace)
            gate.accepted()
            silence.heard(at: now)
            for answer in answers where answer.client != nil {
                guard call.lookup.clientSubnet == settings.clientSubnet else { break }
                clientAddress = answer.client
            }
            guard isFirst else { return }
            if call.isTrial { trialAnswered(call) } else { noteOrder(running, of: call, now) }
            deliver(answers, from: running.attempt.server, to: call)
            let isCurrentLate = call.running.contains {
                $0.attempt.server == pool.current && $0.number < number
            }
            if isCurrentLate, !call.isTrial { beginTrial(of: call.client) }
        case .failure(.unauthorized(let status, let code))
        where pool.isScheduled(running.attempt.server):
            // The list of scheduled servers can be old or forged, so the refusal of a scheduled
            // server does not count as a refusal of the account.
            failed(number, running, .serverStatus(status, code: code), of: call)
        case .failure(let error):
            failed(number, running, error, of: call)
        }
    }

    private func noteOrder(_ first: VendorCall.RunningTry, of call: VendorCall, _ now: Instant) {
        let server = first.attempt.server
        call.wasAnswered = true
        if first.start + settings.hedgeAfter > now { avoided.answered(server, of: call.client) }
        for other in call.running where other.start + settings.hedgeAfter <= now {
            avoided.missed(other.attempt.server, of: call.client, now: now)
        }
        for other in call.refusals where other != server {
            avoided.missed(other, of: call.client, now: now)
        }
        let isHedge = call.running.contains { $0.number < first.number }
        if isHedge { hedges.refund(call.hedges, to: call.client) }
    }

    private func failed(
        _ number: Int,
        _ running: VendorCall.RunningTry,
        _ error: VendorError,
        of call: VendorCall
    ) {
        let now = clocks.now()
        let server = running.attempt.server
        call.failed.append(error)
        let isSaturation = isSaturation(error, of: server, call, since: running.start, now)
        let isRefused = isSaturation && error.isOfConnection
        let fault = isRefused ? AttemptPlan.Fault.refusedConnection : error.fault
        let move = call.course.failed(number, fault, now: now)
        let isRetried = move?.server == server
        if isSaturation, !isRetried, call.saturation?.isOfConnection ?? true {
            call.saturation = error
        }
        if isRetried { counters.freshRetries += 1 }
        // A server that closed an idle connection has not failed.
        let isClosing = if case .transport(.cutOff) = error { isRetried } else { false }
        if !isClosing { noteFailure(of: server, error, now) }
        if !isClosing, !error.mayBeSaturation, !error.isOfConnection { call.hasOtherFailure = true }
        let isOfAccount = error.verdict == .accountRefused
        if error.isNews, !call.isTrial {
            observer?(.failed(server, error, next: move?.server))
        }
        let wasFair = running.until - running.start >= min(settings.timeout, VendorLimits.fairWait)
        var outcome =
            isSaturation
            ? .unjudged
            : error.outcome(
                isTrial: call.isTrial,
                isConfigured: !pool.isScheduled(server),
                isRetried: isRetried,
                wasFair: wasFair
            )
        if isOfAccount, call.isTrial { outcome = .refused(error, pause: refusalPause) }
        if case .limited(let pause?) = outcome, !facts.usesTLS {
            let longest = VendorLimits.maximumUnauthenticatedRetryAfter
            outcome = .limited(retryAfter: min(pause, longest))
        }
        note(pool.end(running.attempt, outcome, now: now), for: call.trace)
        if outcome == .failed { noteOutage(of: server) }
        if isOfAccount || error.kind == .limited, !isSaturation { call.refusals.append(server) }
        if outcome == .suspected, call.isInFlight, !call.isTrial {
            avoided.missed(server, of: call.client, now: now)
        }
        switch error {
        case _ where error.isUnanswered:
            if outcome == .suspected { silence.lasted(since: running.start) }
        case _ where error.isOfConnection:
            if !isSaturation { silence.didNotConnect(since: running.start) }
        case _ where error.isBroken: silence.connected()
        case _ where error.verdict == .notTheServer: break
        default: silence.heard(at: now)
        }
        if case .limited = error, let until = pool.openUntil(server) {
            call.trace?.note("\(name) \(server): circuit breaker open for \(until - now)")
        }
        if error.wantsOtherServers {
            schedule.serversFailed(now: now)
            armRefresh()
        }
        perform(move, of: call, call.isTrial ? .fresh : .next)
        let isSuspicion = outcome == .suspected && pool.isCurrentSuspected
        // A paused server has already refused a probe, so its refusal of a call needs no probe.
        let isRefusal = isOfAccount && pool.openUntil(server).map { $0 <= now } ?? true
        if !call.isTrial, isSuspicion || isSaturation || isRefusal || error.kind == .limited {
            beginTrial(of: call.client)
        }
    }

    /// Without TLS, an attacker or a captive portal can send the refusal.
    private var refusalPause: Duration {
        facts.usesTLS ? ClientLimits.refusalPause : VendorLimits.maximumUnauthenticatedRetryAfter
    }

    func noteRefusal(of call: VendorCall) {
        let refusal = call.failed.last { $0.verdict == .accountRefused }
        guard let refusal, pool.takeRefusal() else { return }
        let now = clocks.now()
        let isNews = !gate.isRefused(at: now)
        gate.refused(refusal, for: refusalPause, now: now)
        if isNews { observer?(.refused(refusal, pause: refusalPause)) }
    }

    private func deliver(
        _ answers: [VendorAnswer],
        from server: SocketAddress,
        to call: VendorCall
    ) {
        for name in call.names {
            let answer =
                call.names.count == 1 && answers.count == 1
                ? answers[0] : self.answer(to: name, answers, call)
            counters.droppedAddresses += UInt64(answer.dropped)
            let now = clocks.now()
            for lookUp in takeLookUps(of: name) {
                var reply = VendorReply(
                    answer: answer,
                    families: call.lookup.families,
                    server: server,
                    duration: now - lookUp.start
                )
                reply.wasMerged = lookUp.wasMerged
                finish(lookUp, .success(reply))
            }
        }
        end(call)
    }
}

extension VendorClient {
    private func answer(
        to name: PendingName,
        _ answers: [VendorAnswer],
        _ call: VendorCall
    ) -> VendorAnswer {
        guard let index = call.lookup.names.firstIndex(of: name.question.name),
            answers.indices.contains(index)
        else { return VendorAnswer(name: name.question.name) }
        return answers[index]
    }
}

// MARK: - Classification of errors

extension AttemptPlan.Move {
    fileprivate var server: SocketAddress? {
        if case .ask(_, let server, _, _) = self { server } else { nil }
    }
}

extension VendorError {
    fileprivate var isNews: Bool { self != .transport(.cancelled) && kind != .budget }

    fileprivate var fault: AttemptPlan.Fault {
        switch verdict {
        case .notTheServer: .ours
        case .serverFailed, .accountRefused:
            switch self {
            case .refused: .rejected
            case .transport(.timedOut(reused: true)), .transport(.cutOff(reused: true)):
                .oldConnection
            case _ where isOfConnection: .unconnected
            default: .server
            }
        }
    }

    /// Returns the effect of a failed attempt on the health of its server.
    ///
    /// A timeout counts only if the server had enough time to reply: at least the shorter of
    /// ``VendorLimits/fairWait`` and the vendor's `timeout`. A 429 for a call does
    /// not count, because the queried name may be the cause.
    fileprivate func outcome(
        isTrial: Bool,
        isConfigured: Bool,
        isRetried: Bool,
        wasFair: Bool
    ) -> EndpointPool.Outcome {
        switch self {
        case .limited(let retryAfter): isTrial ? .limited(retryAfter: retryAfter) : .unjudged
        case .transport(.timedOut) where isRetried || !wasFair: .unjudged
        case .transport(.cutOff) where isRetried: .unjudged
        // The server works, and perhaps rejects only the fixed name of the probe. A scheduled server
        // must answer: its address can be forged.
        case .refused where isTrial && isConfigured: .answered
        default:
            verdict != .serverFailed ? .unjudged : isTrial || isOfConnection ? .failed : .suspected
        }
    }
}
