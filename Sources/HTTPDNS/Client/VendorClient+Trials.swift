// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Net

// MARK: - Health probes

extension VendorClient {
    package var isSilent: Bool { silence.isSilent }

    package var isAvailable: Bool { !isSilent && obstacle(clocks.now()) == nil }

    package var isTrialDue: Bool {
        let now = clocks.now()
        return trials.isDue(at: now) && obstacle(now) == nil
    }

    /// Starts a health probe if one is due and permitted.
    ///
    /// The rate limit never refuses a probe: otherwise, a flood of names could prevent all probes.
    ///
    /// - Parameter client: the client to which the probe is charged; nil for the daemon itself.
    package func beginTrial(of client: ClientNetwork? = nil) {
        let now = clocks.now()
        guard isTrialDue, spentBudget(of: client, now) == nil else { return }
        let order = pool.trialOrder(now: now)
        guard !order.isEmpty else { return }
        trials.began(at: now)
        callsBegun += 1
        let course = AttemptPlan(
            order: order,
            timeout: trialTimeout,
            hedgeAfter: settings.hedgeAfter,
            deadline: now + trialTimeout + settings.hedgeAfter * (order.count - 1)
        )
        let call = VendorCall(
            trial: callsBegun,
            probe,
            of: client,
            course,
            isOfAccount: gate.begin(),
            now
        )
        trial = call
        insert(call)
        perform(call.course.begin(now: now), of: call, .fresh)
    }

    var probe: VendorQuery {
        VendorQuery(
            names: [vendor.trialName],
            families: facts.pairsFamilies && price.pairsForFree ? .both : .v4,
            clientSubnet: settings.clientSubnet
        )
    }

    /// Maximum wait for the answer to a health probe; longer on a long network path, because the
    /// handshake and the reply need up to four round trips.
    private var trialTimeout: Duration {
        let usual = max(settings.timeout / 2, min(settings.timeout, VendorLimits.fairWait))
        let median = record(of: pool.current)?.latency.median ?? .zero
        let longest = min(settings.timeout * 1.25, ClientLimits.longestTrial)
        return max(usual, isSilent ? longest : min(median * 5, longest))
    }

    /// If a queued name has upstreams as fallback, lets calls without a reply cause a health probe
    /// earlier.
    func suspectCalls() {
        guard hasQueuedFallback, suspectedCalls != callsBegun else { return }
        suspectedCalls = callsBegun
        for call in calls where !call.isTrial {
            guard let suspectAt = call.suspectAt else { continue }
            call.suspectAt = min(suspectAt, call.start + ClientLimits.queueSuspicion)
            arm(call)
        }
    }

    func suspect(_ call: VendorCall, _ now: Instant) {
        guard let suspectAt = call.suspectAt, suspectAt <= now else { return }
        call.suspectAt = nil
        if !silence.hasReceived(since: call.start) { beginTrial(of: call.client) }
    }

    /// Counts the probe as failed if another server failed first.
    func trialAnswered(_ call: VendorCall) {
        if call.failed.isEmpty { trials.answered() } else { trials.failed() }
    }

    func trialEnded(_ call: VendorCall) {
        trial = nil
        if call.isAccountTrial { gate.trialEnded() }
        if pool.isCurrentSuspected { beginTrial(of: call.client) }
    }

    func trialFailed(_ call: VendorCall) {
        guard call.saturation == nil else { return trials.answered() }
        shares.restore()
        trials.failed()
        areAllUseless = call.failed.allSatisfy(\.isUseless)
        noteRefusal(of: call)
        if call.failed.allSatisfy({ $0.isUnanswered || $0.isOfConnection || $0.isBroken }) {
            silence.confirmed(since: call.start)
        }
    }

    /// Returns the time until which a name waits for this vendor; nil to use the fallback now.
    ///
    /// A name in a call waits until the call has lasted for `delay` (`fallback-after`). A queued
    /// name waits at most `delay` plus ``ClientLimits/queuePatience``.
    ///
    /// If this vendor is protected and the fallback is not, the fallback would send the name in
    /// plain text. Therefore, the name waits longer:
    ///
    /// - If the call opens a connection, `delay` begins when the connection is open. The name waits
    ///   for the connection for at most `delay` plus ``ClientLimits/handshakePatience``.
    /// - A queued name waits until its deadline, or until a health probe has failed.
    ///
    /// - Parameter isProtected: true if the next vendor or the upstreams are encrypted.
    package func waitEnd(
        _ name: Name,
        _ families: Families,
        parameters: RouteParameters?,
        after delay: Duration,
        isProtected: Bool = false
    ) -> Instant? {
        let now = clocks.now()
        guard let name = pending[question(name, families, .v4, parameters, now: now)] else {
            return nil
        }
        func future(_ end: Instant) -> Instant? { end > now ? end : nil }
        let mayLeave = isProtected || !facts.isProtected
        if let call = name.call {
            if name.queuedAt != nil, call.start + delay > now { return call.start + delay }
            return mayLeave ? nil : handshakeEnd(of: call, after: delay, now).flatMap(future)
        }
        guard let queuedAt = name.queuedAt else { return nil }
        let end =
            mayLeave ? queuedAt + delay + ClientLimits.queuePatience : name.lastDeadline ?? now
        // The deadline has passed, so the queue fails the name soon.
        if !mayLeave, end <= now, name.lastDeadline != nil { return now + ClientLimits.queueGrain }
        guard end > now else { return nil }
        let check = min(end, now + ClientLimits.queueCheck)
        guard let oldest = counted.min(by: { $0.number < $1.number }) else {
            return mayLeave ? nil : check
        }
        // A reply soon after the start of an old call does not show that the vendor still replies.
        let recent = max(oldest.start, now - ClientLimits.trialPatience)
        if silence.hasReceived(since: recent) { return check }
        beginTrial(of: spentBudget(of: oldest.client, now) == nil ? oldest.client : nil)
        guard isResponsive else { return nil }
        guard mayLeave else { return check }
        if let trial { return future(min(end, trial.start + ClientLimits.trialPatience)) }
        return trials.wasAnswered ? check : nil
    }

    private func handshakeEnd(
        of call: VendorCall,
        after delay: Duration,
        _ now: Instant
    ) -> Instant? {
        guard isResponsive, !call.running.isEmpty else { return nil }
        let sent = call.running.compactMap { $0.request.sentAt }.min()
        if let sent { return sent + delay }
        return min(
            call.start + delay + ClientLimits.handshakePatience,
            now + ClientLimits.queueCheck
        )
    }

    func dropTrial(_ now: Instant) {
        trials.reset()
        guard let call = trial else { return }
        trial = nil
        _ = remove(call)
        if call.isAccountTrial { gate.trialEnded() }
        dropTries(of: call, now)
    }

    var clientCalls: Int { shares.count }
}

extension VendorError {
    /// True if no octet of a reply arrived; the queried name can be the cause.
    var isUnanswered: Bool {
        switch self {
        case .transport(.timedOut), .transport(.cutOff): true
        default: false
        }
    }

    /// True if octets of a reply arrived, but no whole reply.
    var isBroken: Bool {
        switch self {
        case .transport(.broken), .transport(.bodyTooLarge): true
        default: false
        }
    }

    /// True for a failure to connect, which the queried name cannot cause.
    var isOfConnection: Bool {
        switch self {
        case .transport(.connect), .transport(.tls): true
        default: false
        }
    }
}
