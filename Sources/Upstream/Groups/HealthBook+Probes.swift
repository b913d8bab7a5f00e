// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

extension ForwardedQuery {
    /// The daemon's own question, `. IN NS`: every resolver knows the answer, and no
    /// client can choose it.
    static let probe = ForwardedQuery(
        question: Question(name: .root, type: .ns),
        dnssecOK: false,
        checkingDisabled: false
    )

    /// Whether it asks the daemon's own question.
    var isProbe: Bool { question == Self.probe.question }
}

extension HealthBook {
    /// Suspects a server: a probe decides whether it is down.
    ///
    /// - Parameters:
    ///   - began: when it was asked what it has not answered.
    ///   - end: when the probe fails at the latest; ``UpstreamLimits/fairWait`` is its least time.
    ///   - verdict: called once, perhaps before this returns.
    func suspect(
        _ server: any Forwarding,
        silentSince began: ContinuousClock.Instant?,
        until end: ContinuousClock.Instant,
        _ verdict: @escaping Verdict = { _ in }
    ) {
        let page = page(of: server)
        guard page.health.isFit else { return verdict(true) }
        page.verdicts.append(verdict)
        probe(server, silentSince: began, until: end)
    }

    /// Sends a probe, unless one is under way.
    func probe(
        _ server: any Forwarding,
        silentSince began: ContinuousClock.Instant? = nil,
        until end: ContinuousClock.Instant
    ) {
        let now = clocks.now()
        let page = page(of: server)
        guard let start = page.health.beginProbe(now: now) else { return }
        let probe = Probe(server, clocks, silentSince: began) { [self] began, outcome in
            probed(server, page, began, outcome)
        }
        let end = max(end, start + UpstreamLimits.fairWait)
        let patience = page.health.patience
        guard start > now else { return probe.begin(until: end, repeatingAfter: patience) }
        ServiceLoop.task { [clocks] in
            try? await clocks.sleep(start)
            probe.begin(until: end, repeatingAfter: patience)
        }
    }

    /// Measures the round trip of a server.
    ///
    /// The first question opens a connection if there is none; only the second one is timed.
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

    /// Notes the outcome of a probe, and tells it to the queries that wait for it.
    private func probed(
        _ server: any Forwarding,
        _ page: Page,
        _ began: ContinuousClock.Instant,
        _ outcome: UpstreamError?
    ) {
        // Otherwise all was forgotten meanwhile, as the network changed.
        if page.health.isProbed {
            let now = clocks.now()
            if let error = outcome {
                reportFailure(server.name, server.label, error)
                if page.health.failedProbe(error, began: began, now: now) {
                    report(.rests(name: server.name, url: server.label, error))
                }
            } else if page.health.passedProbe(now: now) {
                report(.recovered(name: server.name, url: server.label))
            }
        }
        let verdicts = page.verdicts
        page.verdicts = []
        for verdict in verdicts { verdict(!page.health.isFit) }
    }
}

/// One own question to one server, repeated where datagrams get lost.
@ServiceLoop
private final class Probe {
    /// Completion, called once: when the question was first sent, and the failure if there was one.
    typealias Completion = @ServiceLoop (ContinuousClock.Instant, UpstreamError?) -> Void

    private let server: any Forwarding
    private let clocks: Clocks
    private let silentSince: ContinuousClock.Instant?

    /// Nil once it was called.
    private var completion: Completion?

    private var began: ContinuousClock.Instant
    private var running = 0

    init(
        _ server: any Forwarding,
        _ clocks: Clocks,
        silentSince: ContinuousClock.Instant?,
        _ completion: @escaping Completion
    ) {
        self.server = server
        self.clocks = clocks
        self.silentSince = silentSince
        self.completion = completion
        began = clocks.now()
    }

    /// Sends the question.
    func begin(until end: ContinuousClock.Instant, repeatingAfter pause: Duration) {
        began = clocks.now()
        ask(until: end)
        guard server.repeatsAfter == .zero, completion != nil else { return }
        ServiceLoop.task { [self] in
            for number in 1..<UpstreamLimits.probeDatagrams {
                let next = began + pause * number
                guard next < end else { return }
                try? await clocks.sleep(next)
                guard completion != nil else { return }
                ask(until: end)
            }
        }
    }

    /// Sends the question once.
    private func ask(until end: ContinuousClock.Instant) {
        running += 1
        server.ask(.probe, repeating: silentSince, deadline: end, nil) { [self] reply in
            running -= 1
            switch reply {
            case .success: complete(nil)
            case .failure(.timedOut) where running > 0: break
            case .failure(.timedOut) where clocks.now() - end > UpstreamLimits.lateness:
                // A reply may lie unread: a busy daemon does not make a server silent.
                complete(.exhausted("was too busy to hear the answer"))
            case .failure(let error): complete(error)
            }
        }
    }

    private func complete(_ error: UpstreamError?) {
        guard let completion else { return }
        self.completion = nil
        completion(began, error)
    }
}
