// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

extension Forwarding {
    /// URL for messages, with the addition "unprotected" for an unprotected server.
    nonisolated var label: String { isProtected ? url : "\(url), unprotected" }
}

/// Health of all servers, shared by all groups; sends the health probes.
@ServiceLoop
package final class HealthTable {
    /// Change of a server's state, for the log.
    package struct News: Sendable {
        package var server: (name: String, url: String)

        /// Value of the log field `event`; log lines with equal fields are limited.
        package var kind: String

        package var isTrouble = true
        package var text: String
    }

    package var report: @ServiceLoop (News) -> Void = { _ in }

    /// Called for each failed query or probe, with the server's name, its URL and the error.
    package var reportFailure: @ServiceLoop (String, String, UpstreamError) -> Void = { _, _, _ in }

    let clocks: Clocks

    @ServiceLoop
    final class Page {
        var health = ServerHealth()
        var samples = LossSamples()

        var completions: [Verdict] = []

        var probeCount = 0

        var nextProbe: (any Cancellable)?

        fileprivate var forgeries: UInt64 = 0
    }

    typealias Verdict = @ServiceLoop (_ isDown: Bool) -> Void

    /// Retains each server, so that no later object gets the same identifier.
    private var pages: [ObjectIdentifier: (server: any Forwarding, page: Page)] = [:]

    private var paused: Set<String> = [] { didSet { hasPaused = !paused.isEmpty } }

    /// True if `paused` is not empty.
    ///
    /// A read of this property needs no run-time exclusivity check, unlike `paused.isEmpty`.
    private var hasPaused = false

    /// Servers that are being tested for a forwarding loop.
    ///
    /// The key is the first label of the name in the test query.
    private var probes: [[UInt8]: any Forwarding] = [:]
    var random = SystemRandomNumberGenerator()

    package nonisolated init(clocks: Clocks = .system) {
        self.clocks = clocks
    }

    func health(of server: any Forwarding) -> ServerHealth { page(of: server).health }

    func page(of server: any Forwarding) -> Page {
        if let known = pages[ObjectIdentifier(server)] { return known.page }
        let page = Page()
        pages[ObjectIdentifier(server)] = (server, page)
        return page
    }

    func isKnown(_ server: any Forwarding, _ page: Page) -> Bool {
        pages[ObjectIdentifier(server)]?.page === page
    }

    package func keep(only servers: [any Forwarding]) {
        paused.formIntersection(servers.map(\.name))
        let kept = Set(servers.map { ObjectIdentifier($0) })
        pages = pages.filter { kept.contains($0.key) }
        probes = probes.filter { kept.contains(ObjectIdentifier($0.value)) }
    }

    package func report(
        of server: any Forwarding
    ) -> (condition: ServerCondition, latency: Duration?) {
        let health = health(of: server)
        return (isPaused(server) ? .paused : health.condition, health.latency)
    }

    /// Removes the health of a server that the network no longer announces.
    package func forget(_ server: any Forwarding) {
        pages[ObjectIdentifier(server)] = nil
        probes = probes.filter { $0.value !== server }
    }

    func report(
        _ server: any Forwarding,
        _ kind: String,
        isTrouble: Bool = true,
        _ change: String
    ) {
        let text = "upstream \(server.name) (\(server.label)): \(change)"
        report(
            News(server: (server.name, server.label), kind: kind, isTrouble: isTrouble, text: text)
        )
    }

    // MARK: - Pausing

    func isPaused(_ server: any Forwarding) -> Bool {
        hasPaused && paused.contains(server.name)
    }

    package func isPaused(_ name: String) -> Bool { paused.contains(name) }

    /// Stops sending queries to the upstream `name`; returns false if it was already paused.
    package func pause(_ name: String) -> Bool { paused.insert(name).inserted }

    /// Resumes sending queries to the upstream `name`; returns false if it was not paused.
    package func resume(_ name: String) -> Bool {
        guard paused.remove(name) != nil else { return false }
        // The timers sent no probes while the upstream was paused.
        for (server, page) in pages.values where server.name == name && server.isProtected {
            probeIfDue(server, page)
        }
        return true
    }

    @discardableResult
    func update<Value>(
        _ server: any Forwarding,
        _ change: (inout ServerHealth) -> Value
    ) -> Value {
        // Changing a copy avoids a run-time exclusivity check for each access of `health`.
        let page = page(of: server)
        var health = page.health
        defer { page.health = health }
        return change(&health)
    }

    package func networkChanged() {
        for (_, page) in pages.values {
            page.health = ServerHealth()
            page.samples = LossSamples()
        }
        probes = [:]
    }

    // MARK: - Outcomes of clients' queries

    func answered(_ server: any Forwarding, _ page: Page, began: Instant, now: Instant) {
        let (isSlow, rests) = page.health.answered(in: now - began, now: now)
        // Measures only encrypted servers, because a failed probe of such a server permits the use
        // of unprotected servers. The measured round trip determines the timeout of the probe.
        let isDue = isSlow && server.isEncrypted && !page.health.isProbed
        if isDue, page.health.isUnmeasured(at: now) { measure(server) }
        reportForgeries(of: server, page)
        if rests { probe(server, until: now + server.timeout) }
    }

    /// Records that a client's query failed; the failure does not change the server's health.
    func failed(
        _ server: any Forwarding,
        _ error: UpstreamError,
        began: Instant
    ) {
        reportFailure(server.name, server.label, error)
        reportForgeries(of: server, page(of: server))
        if error.isDecline { update(server) { $0.replied(now: clocks.now()) } }
        if error == .timedOut { seekLoop(through: server, failedSince: began) }
    }

    private func reportForgeries(of server: any Forwarding, _ page: Page) {
        guard server.forgeries != page.forgeries else { return }
        page.forgeries = server.forgeries
        report(
            server,
            "forged",
            "possible forgery: messages from the address of the server match no query; "
                + "repeating the queries over TCP; use an encrypted upstream"
        )
    }
}

// MARK: - Loops

extension HealthTable {
    private static let loopZone: [UInt8] =
        [10] + Array("loop-probe".utf8) + [8]
        + Array("httpdnsd".utf8) + [0]

    /// Sends a query for a random name, to detect a forwarding loop.
    ///
    /// Sends nothing if such a query was sent recently.
    func seekLoop(through server: any Forwarding, failedSince began: Instant) {
        let now = clocks.now()
        guard now - began >= UpstreamLimits.loopTime, update(server, { $0.seekLoop(now: now) })
        else { return }
        let label = Array(String(random.next() | 1 << 63, radix: 16).utf8)
        guard let name = try? Name(wire: [UInt8(label.count)] + label + Self.loopZone) else {
            return
        }
        probes[label] = server
        let end = now + UpstreamLimits.loopWait
        ServiceLoop.task { [self] in
            let query = Query(question: Question(name: name, type: .txt))
            // A loop is detected when the query arrives at this daemon.
            _ = try? await server.exchange(query, deadline: end)
            try? await clocks.sleep(end)
            guard probes.removeValue(forKey: label) != nil else { return }
            if update(server, { $0.didNotLoop() }) {
                let text = "no longer forwards queries back to this daemon"
                report(server, "loop-ended", isTrouble: false, text)
            }
        }
    }

    /// Returns true, and records the loop, if a client's question is from `seekLoop`.
    package func recognises(_ question: Question) -> Bool {
        guard question.type == .txt else { return false }
        let octets = question.name.lowercased.octets
        guard octets.count == 17 + Self.loopZone.count, octets[17...].elementsEqual(Self.loopZone),
            let server = probes.removeValue(forKey: Array(octets[1..<17]))
        else { return false }
        if update(server, { $0.looped(now: clocks.now()) }) {
            report(
                server,
                "loops",
                "forwards queries back to this daemon, so the daemon ignores this server: use a "
                    + "resolver that does not forward to this daemon"
            )
        }
        return true
    }
}
