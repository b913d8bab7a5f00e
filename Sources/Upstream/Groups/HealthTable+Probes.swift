// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

extension Query {
    /// Health probe `. IN NS`, which a resolver can answer from its root hints.
    static let probe = Query(question: Question(name: .root, type: .ns))

    static let samples = "abcdefghijklm".map { letter in
        guard let name = try? Name("\(letter).root-servers.net") else {
            preconditionFailure("invalid probe name")
        }
        return Query(question: Question(name: name, type: .a))
    }

    /// Second question of a probe: a filter against amplification can drop queries for `. IN NS`.
    static let otherProbe = samples[0]

    var isProbe: Bool {
        if question == Self.probe.question { return true }
        let octets = Self.otherProbe.question.name.octets.count
        return question.name.octets.count == octets
            && Self.samples.contains { $0.question == question }
    }
}

extension HealthTable {
    /// Probes a server after a failed or unanswered query.
    ///
    /// - Parameters:
    ///   - began: the start of the unanswered attempt; nil if the server has replied.
    ///   - completion: may be called before `suspect` returns.
    func suspect(
        _ server: any Forwarding,
        silentSince began: Instant?,
        until end: Instant,
        _ completion: @escaping Verdict = { _ in }
    ) {
        let page = page(of: server)
        guard !page.health.isDown, !page.health.loops else { return completion(page.health.isDown) }
        page.completions.append(completion)
        if let began { page.health.suspected(since: began) }
        probe(server, silentSince: began, until: end)
    }

    /// Probes an untrusted server for a query that has no other server.
    func recheck(_ server: any Forwarding, until end: Instant, _ completion: @escaping Verdict) {
        page(of: server).completions.append(completion)
        probe(server, until: end)
    }

    /// Sends a probe, unless a probe is in flight.
    func probe(
        _ server: any Forwarding,
        silentSince began: Instant? = nil,
        until end: Instant
    ) {
        let now = clocks.now()
        let page = page(of: server)
        guard let start = page.health.beginProbe(now: now) else { return }
        page.probeCount += 1
        let number = page.probeCount
        let completion = Completion<Probe.Outcome> { [self] in
            // After a network change has reset the health, only the result of a later probe counts.
            guard number == page.probeCount || !page.health.isProbed else { return }
            probed(server, page, $0)
        }
        let probe = Probe(server, clocks, silentSince: began, completion) { [clocks] in
            page.health.lostDatagram(now: clocks.now())
        }
        let end = max(end, start + probeTime(of: server, page))
        let patience = page.health.patience
        guard start > now else { return probe.begin(until: end, repeatingAfter: patience) }
        ServiceLoop.task { [clocks] in
            try? await clocks.sleep(start)
            probe.begin(until: end, repeatingAfter: patience)
        }
    }

    /// Minimum time for a probe.
    ///
    /// Over a stream, this time is enough to open a connection in a slow network.
    func probeTime(of server: any Forwarding, _ page: Page) -> Duration {
        server.repeatsAfter == .zero
            ? UpstreamLimits.fairWait
            : max(UpstreamLimits.fairWait, page.health.patience + page.health.connectionTime)
    }

    /// True if a slow connection may be the reason that an encrypted server has not answered yet.
    func mayBeSlow(_ server: any Forwarding) -> Bool {
        server.isEncrypted && !page(of: server).health.hasAnswered
    }

    func probeTimeout(of server: any Forwarding) -> Duration {
        mayBeSlow(server) ? max(server.timeout, UpstreamLimits.firstProbeTime) : server.timeout
    }

    /// Measures the round trip of a server with two queries.
    ///
    /// Only the second query counts, because the first query may open a connection.
    func measure(_ server: any Forwarding) {
        update(server) { $0.beganMeasuring(now: clocks.now()) }
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                _ = try await server.exchange(.probe, deadline: clocks.now() + server.timeout)
                let start = clocks.now()
                _ = try await server.exchange(.probe, deadline: start + server.timeout)
                update(server) { $0.measured(clocks.now() - start) }
            } catch {
                reportFailure(server.name, server.label, error)
            }
        }
    }

    /// Starts a timer that probes an encrypted server at the end of its back-off.
    private func probeLater(_ server: any Forwarding, _ page: Page) {
        guard let end = page.health.backOffEnd else { return }
        page.nextProbe = clocks.timer(end) { [weak self, weak page] in
            guard let self, let page, isKnown(server, page), !isPaused(server) else { return }
            page.nextProbe = nil
            probeIfDue(server, page)
        }
    }

    func probeIfDue(_ server: any Forwarding, _ page: Page) {
        let now = clocks.now()
        if page.health.isDue(at: now) { probe(server, until: now + probeTimeout(of: server)) }
    }

    private func probed(
        _ server: any Forwarding,
        _ page: Page,
        _ outcome: Probe.Outcome
    ) {
        let began = outcome.began
        // A network change may have reset the health during the probe.
        if page.health.isProbed {
            let now = clocks.now()
            if let error = outcome.failure {
                reportFailure(server.name, server.label, error)
                let isProtected = server.isEncrypted
                if page.health.failedProbe(error, isProtected: isProtected, began: began, now: now)
                {
                    report(server, "backoff", "backing off: \(error)")
                }
                if isProtected, page.health.isDown { probeLater(server, page) }
            } else {
                if page.health.passedProbe(now: now) {
                    report(server, "recovered", isTrouble: false, "answers again")
                }
                // The probe may include a handshake, so its time is not a round trip.
                let isSlow = now - began > page.health.patience
                if isSlow, page.health.isUnmeasured(at: now) { measure(server) }
            }
        }
        let completions = page.completions
        page.completions = []
        for completion in completions { completion(page.health.isDown) }
    }
}

/// Health probe of one server.
///
/// - Over UDP, the probe repeats ``Query/probe`` until a reply arrives.
/// - Over TCP or TLS, the probe sends ``Query/probe`` on the open connection, because a firewall
///   can refuse new connections. If no reply arrives in time, the probe also sends
///   ``Query/otherProbe``. If an unanswered client query caused the probe, this second query uses
///   a new connection.
///
/// After an error reply to ``Query/probe``, the probe sends ``Query/otherProbe``. The probe
/// succeeds if the server answers one query.
@ServiceLoop
private final class Probe {
    typealias Outcome = (began: Instant, failure: UpstreamError?)

    private let server: any Forwarding
    private let clocks: Clocks
    private let silentSince: Instant?

    private var completion: Completion<Outcome>?

    /// Called for each datagram without a reply, if the server answered a later datagram.
    private let lostDatagram: @ServiceLoop () -> Void

    private var winner = 0

    private var began: Instant
    private var running = 0

    private var decline: UpstreamError?

    private var hasAskedOther = false

    init(
        _ server: any Forwarding,
        _ clocks: Clocks,
        silentSince: Instant?,
        _ completion: consuming Completion<Outcome>,
        lostDatagram: @escaping @ServiceLoop () -> Void
    ) {
        self.server = server
        self.clocks = clocks
        self.lostDatagram = lostDatagram
        self.silentSince = silentSince
        self.completion = consume completion
        began = clocks.now()
    }

    private var isDatagram: Bool { server.repeatsAfter == .zero }

    func begin(until end: Instant, repeatingAfter pause: Duration) {
        began = clocks.now()
        ask(.probe, until: end)
        guard completion != nil else { return }
        let last = isDatagram ? UpstreamLimits.probeDatagrams - 1 : 1
        let earlier = isDatagram ? silentSince ?? began : silentSince
        ServiceLoop.task { [self] in
            for number in 1...last {
                let next = began + pause * number
                guard next < end else { return }
                try? await clocks.sleep(next)
                guard completion != nil, decline == nil else { return }
                let query = isDatagram ? Query.probe : .otherProbe
                ask(query, until: end, number: number, repeating: earlier)
            }
        }
    }

    private func ask(
        _ query: Query,
        until end: Instant,
        number: Int = 0,
        repeating earlier: Instant? = nil
    ) {
        running += 1
        if query.question == Query.otherProbe.question { hasAskedOther = true }
        let completion = Completion<Attempt> { [self] in ended($0, number) }
        server.ask(Attempt(query, deadline: end, repeating: earlier, completion))
    }

    private func ended(_ attempt: Attempt, _ number: Int) {
        running -= 1
        guard completion != nil else {
            if isDatagram, number < winner, case .failure(.timedOut) = attempt.outcome {
                lostDatagram()
            }
            return
        }
        let isOther = attempt.query.question == Query.otherProbe.question
        switch attempt.outcome {
        case .success:
            winner = number
            complete(nil)
        case .failure(.declined(let rcode, let reason)) where !hasAskedOther:
            decline = .declined(rcode, because: reason)
            ask(
                .otherProbe,
                until: max(attempt.deadline, clocks.now() + UpstreamLimits.fairWait)
            )
        case .failure(.declined(let rcode, let reason)) where decline == nil && running > 0:
            decline = .declined(rcode, because: reason)
        case .failure(let error) where decline != nil && isOther: complete(decline ?? error)
        case .failure(.declined(let rcode, let reason)):
            complete(decline ?? .declined(rcode, because: reason))
        case .failure(.timedOut) where running > 0: break
        // The query on the open connection may still get a reply.
        case .failure where running > 0 && !isDatagram: break
        case .failure(.timedOut) where clocks.now() - attempt.deadline > UpstreamLimits.lateness:
            // The daemon was too busy, so a reply may wait unread in the socket.
            complete(.exhausted("the daemon was too busy to read the reply"))
        case .failure(let error): complete(decline ?? error)
        }
    }

    private func complete(_ error: UpstreamError?) {
        guard let completion = completion.take() else { return }
        completion((began, error))
    }
}
