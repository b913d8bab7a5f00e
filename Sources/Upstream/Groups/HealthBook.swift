// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

extension Forwarding {
    /// Its URL, marked if it is unprotected.
    nonisolated var label: String { isProtected ? url : "\(url), unprotected" }
}

/// Health of all servers, shared by the groups they are in; it sends the probes that decide on it.
@ServiceLoop
package final class HealthBook {
    /// What an operator should hear of.
    package enum News: Sendable, Hashable {
        /// A server rests, and why.
        case rests(name: String, url: String, UpstreamError)

        /// A server that rested has answered.
        case recovered(name: String, url: String)

        /// What a server is asked comes back to us, so it is not asked.
        case loops(name: String, url: String)

        /// Messages that answer no query come from the address of a server.
        case forged(name: String, url: String)

        /// It does so no longer.
        case loopsNoMore(name: String, url: String)
    }

    /// Told of news; each once.
    package var report: @ServiceLoop (News) -> Void = { _ in }

    /// Told of each failure, with the server's name and URL, for who wants to know all.
    package var reportFailure: @ServiceLoop (String, String, UpstreamError) -> Void = { _, _, _ in }

    let clocks: Clocks

    /// Health of one server.
    @ServiceLoop
    final class Page {
        var health = ServerHealth()

        /// Completions of queries that wait for the probe under way.
        var verdicts: [Verdict] = []

        /// ``Forwarding/forgeries`` of the server when they were last reported.
        fileprivate var forgeries: UInt64 = 0
    }

    /// Told whether a suspected server is down.
    typealias Verdict = @ServiceLoop (_ isDown: Bool) -> Void

    /// With the servers, so that no later one is taken for one that is gone.
    private var pages: [ObjectIdentifier: (server: any Forwarding, page: Page)] = [:]

    /// The upstreams that an operator has paused, by their names in the settings.
    private var paused: Set<String> = []

    /// Questions that look for a loop and were not yet given up, by their first label.
    private var probes: [[UInt8]: any Forwarding] = [:]
    private var random = SystemRandomNumberGenerator()

    /// Makes a book without entries.
    package nonisolated init(clocks: Clocks = .system) {
        self.clocks = clocks
    }

    /// What is known of a server.
    func health(of server: any Forwarding) -> ServerHealth { page(of: server).health }

    /// Where what is known of a server is kept, for good.
    func page(of server: any Forwarding) -> Page {
        if let known = pages[ObjectIdentifier(server)] { return known.page }
        let page = Page()
        pages[ObjectIdentifier(server)] = (server, page)
        return page
    }

    /// Forgets all servers but these.
    ///
    /// What is under way to another one brings it back until the next time.
    package func keep(only servers: [any Forwarding]) {
        paused.formIntersection(servers.map(\.name))
        let kept = Set(servers.map { ObjectIdentifier($0) })
        pages = pages.filter { kept.contains($0.key) }
    }

    /// Whether a server is asked, and the smoothed time that its answers take.
    package func report(
        of server: any Forwarding
    ) -> (condition: ServerCondition, latency: Duration?) {
        let health = health(of: server)
        return (isPaused(server) ? .paused : health.condition, health.latency)
    }

    // MARK: - Pausing

    /// Whether an operator has paused the upstream of a server.
    func isPaused(_ server: any Forwarding) -> Bool {
        !paused.isEmpty && paused.contains(server.name)
    }

    /// Whether an operator has paused the upstream of this name.
    package func isPaused(_ name: String) -> Bool { paused.contains(name) }

    /// Sends no more queries to the upstream of this name; queries under way go on.
    ///
    /// - Returns: whether it was asked before.
    package func pause(_ name: String) -> Bool { paused.insert(name).inserted }

    /// Sends queries to the upstream of this name again.
    ///
    /// - Returns: whether it was paused before.
    package func resume(_ name: String) -> Bool { paused.remove(name) != nil }

    /// Changes what is known of a server.
    @discardableResult
    func update<Value>(
        _ server: any Forwarding,
        _ change: (inout ServerHealth) -> Value
    ) -> Value {
        change(&page(of: server).health)
    }

    /// Forgets everything, as after a change of the network.
    package func networkChanged() {
        for (_, page) in pages.values { page.health = ServerHealth() }
        probes = [:]
    }

    // MARK: - Outcomes of clients' queries

    /// Notes that a server answered.
    func answered(_ server: any Forwarding, began: ContinuousClock.Instant) {
        let now = clocks.now()
        let page = page(of: server)
        page.health.answered(in: now - began, now: now)
        reportForgeries(of: server, page)
        // A sign of life: let a probe end the rest early.
        if page.health.rests { probe(server, until: now + server.timeout) }
    }

    /// Notes that a server did not answer, which says nothing about its health.
    func failed(
        _ server: any Forwarding,
        _ error: UpstreamError,
        began: ContinuousClock.Instant
    ) {
        reportFailure(server.name, server.label, error)
        reportForgeries(of: server, page(of: server))
        if error.isDecline { update(server) { $0.declined(now: clocks.now()) } }
        if error == .timedOut { seekLoop(through: server, failedSince: began) }
    }

    /// Reports sockets that were closed because of forged messages since the last report.
    private func reportForgeries(of server: any Forwarding, _ page: Page) {
        guard server.forgeries != page.forgeries else { return }
        page.forgeries = server.forgeries
        report(.forged(name: server.name, url: server.label))
    }
}

// MARK: - Loops

extension HealthBook {
    /// Names below this one are asked to see whether they come back.
    private static let loopZone: [UInt8] =
        [10] + Array("loop-probe".utf8) + [8]
        + Array("httpdnsd".utf8) + [0]

    /// Asks `server` for a name that nobody else knows, unless that was done lately.
    ///
    /// Only after a slow failure: in a loop each query waits for itself.
    ///
    /// - Parameter began: when it was asked what it failed to answer.
    func seekLoop(through server: any Forwarding, failedSince began: ContinuousClock.Instant) {
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
            let query = ForwardedQuery(
                question: Question(name: name, type: .txt),
                dnssecOK: false,
                checkingDisabled: false
            )
            // What it says is of no interest, only whether the question arrives.
            _ = try? await server.exchange(query, deadline: end)
            try? await clocks.sleep(end)
            guard probes.removeValue(forKey: label) != nil else { return }
            if update(server, { $0.didNotLoop() }) {
                report(.loopsNoMore(name: server.name, url: server.label))
            }
        }
    }

    /// Whether a client's question is one that looks for a loop: ours, come back.
    package func recognises(_ question: Question) -> Bool {
        guard question.type == .txt else { return false }
        let octets = question.name.lowercased.octets
        guard octets.count == 17 + Self.loopZone.count, octets[17...].elementsEqual(Self.loopZone),
            let server = probes.removeValue(forKey: Array(octets[1..<17]))
        else { return false }
        if update(server, { $0.looped(now: clocks.now()) }) {
            report(.loops(name: server.name, url: server.label))
        }
        return true
    }
}

extension HealthBook.News: CustomStringConvertible {
    /// The news as a line of the log.
    package var description: String {
        switch self {
        case .rests(let name, let url, let error):
            "upstream \(name) (\(url)) rests: \(error)"
        case .recovered(let name, let url):
            "upstream \(name) (\(url)) answers again"
        case .loops(let name, let url):
            "upstream \(name) (\(url)) leads back to this server, ignoring it: "
                + "name a resolver that does not ask this one"
        case .forged(let name, let url):
            "upstream \(name) (\(url)): messages from its address answer no query, asking over TCP: "
                + "forged? use an encrypted upstream"
        case .loopsNoMore(let name, let url):
            "upstream \(name) (\(url)) no longer leads back to this server"
        }
    }

    /// The server that it is about.
    package var server: (name: String, url: String) {
        switch self {
        case .rests(let name, let url, _), .recovered(let name, let url), .loops(let name, let url),
            .loopsNoMore(let name, let url), .forged(let name, let url):
            (name, url)
        }
    }

    /// The event in one word, by which lines of the log are limited.
    package var kind: String {
        switch self {
        case .rests: "rests"
        case .recovered: "recovered"
        case .loops: "loops"
        case .loopsNoMore: "loop-ended"
        case .forged: "forged"
        }
    }

    /// Whether it is bad news.
    package var isTrouble: Bool {
        switch self {
        case .rests, .loops, .forged: true
        case .recovered, .loopsNoMore: false
        }
    }
}
