// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

// MARK: - The daemon's own question

extension VendorClient {
    /// Whether the breaker of the vendor is open: no client that has a choice should wait for it.
    package var isSilent: Bool { silence.isSilent }

    /// Whether ``beginTrial()`` would send a request now.
    package var isTrialDue: Bool {
        let now = clocks.now()
        return trials.isDue(at: now) && obstacle(now) == nil
    }

    /// Asks the vendor the daemon's own question, if a trial is due and nothing forbids a call.
    ///
    /// The current server is asked first, or the primary one whose time has come, and the others as in
    /// any call; each on a new connection, so that an old one is not mistaken for the server.  How
    /// the tries end decides on the health of servers, vendor and account.
    package func beginTrial() {
        guard isTrialDue else { return }
        let now = clocks.now()
        let order = pool.trialOrder(now: now)
        guard !order.isEmpty else { return }
        trials.began(at: now)
        callsBegun += 1
        let course = Course(
            order: order,
            timeout: trialTimeout,
            hedgeAfter: settings.hedgeAfter,
            deadline: now + trialTimeout + settings.hedgeAfter * (order.count - 1)
        )
        let lookup = Lookup(
            names: [vendor.trialName],
            families: facts.pairsFamilies ? .both : .v4,
            clientSubnet: settings.clientSubnet
        )
        let call = VendorCall(trial: callsBegun, lookup, course, isOfAccount: gate.begin(), now)
        trial = call
        calls.insert(call)
        perform(call.course.begin(now: now), of: call, .fresh)
    }

    /// How long one server has to answer the daemon's own question.
    ///
    /// A client's call that has heard nothing for half of its time starts the trial, so that both end
    /// together; but no server has less than a fair time.
    private var trialTimeout: Duration {
        max(settings.timeout / 2, min(settings.timeout, VendorLimits.fairWait))
    }

    /// Time from the start of a call to the start of a trial, if no server replies in
    /// between.
    var suspicionTime: Duration { settings.timeout / 2 }

    /// Starts a trial if no server of the vendor has replied since `call` began.
    func suspect(_ call: VendorCall, _ now: ContinuousClock.Instant) {
        guard let suspectAt = call.suspectAt, suspectAt <= now else { return }
        call.suspectAt = nil
        if !silence.hasHeard(since: call.start) { beginTrial() }
    }

    /// The trial `call` has ended with an answer, maybe not of the server that was asked first.
    func trialAnswered(_ call: VendorCall) {
        if call.failed.isEmpty { trials.answered() } else { trials.failed() }
    }

    /// The trial `call` is over.
    ///
    /// What failed for clients while its last servers were asked may need the next trial.
    func trialEnded(_ call: VendorCall) {
        trial = nil
        if call.isAccountTrial { gate.trialEnded() }
        if pool.isCurrentSuspected { beginTrial() }
    }

    /// The trial `call` has ended without an answer.
    func trialFailed(_ call: VendorCall) {
        trials.failed()
        if call.failed.allSatisfy(\.error.isTimeout) { silence.confirmed(since: call.start) }
    }

    /// Gives the trial up that is under way, as what it would tell holds no more.
    func dropTrial(_ now: ContinuousClock.Instant) {
        trials.reset()
        guard let call = trial else { return }
        trial = nil
        calls.remove(call)
        if call.isAccountTrial { gate.trialEnded() }
        dropTries(of: call, now)
    }

    /// Calls without an answer so far that clients wait for.
    var clientCalls: Int { calls.count - (trial == nil ? 0 : 1) }

    /// Whether one more call for clients may begin.
    var hasPlace: Bool { clientCalls < settings.concurrentCalls }

    /// Whether one more call may begin for `client`; nil is the daemon itself.
    func hasPlace(for client: AnyHashable?) -> Bool {
        hasPlace && client.map { !clientsWithoutPlace.contains($0) } ?? true
    }

    /// Clients that have their share of the places: three quarters of `concurrent-calls`.
    ///
    /// A name without an answer holds a place for seconds, so that one client could hold all.
    var clientsWithoutPlace: Set<AnyHashable> {
        let share = max(1, settings.concurrentCalls * 3 / 4)
        // Most calls are short: a client comes near its share only if many are not.
        guard clientCalls >= share else { return [] }
        var counts: [AnyHashable: Int] = [:]
        for call in calls {
            if let client = call.client { counts[client, default: 0] += 1 }
        }
        return Set(counts.lazy.filter { $0.value >= share }.map(\.key))
    }
}

extension VendorError {
    /// Whether no reply came in time.
    var isTimeout: Bool { if case .transport(.timedOut) = self { true } else { false } }

    /// Whether no connection came about, which no name can cause.
    var isOfConnection: Bool {
        switch self {
        case .transport(.connect), .transport(.tls): true
        default: false
        }
    }
}
