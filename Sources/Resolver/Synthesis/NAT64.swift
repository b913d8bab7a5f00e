// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire
package import Net
package import Upstream

/// NAT64 prefix from the settings, router advertisements (RFC 8781) or discovery (RFC 7050).
///
/// The prefix is nil, except while IPv6 works on this machine and IPv4 does not.
@ServiceLoop
package final class NAT64 {
    /// The setting `nat64`.
    package enum Mode: Sendable, Hashable {
        case discover
        case off
        case fixed(NAT64Prefix)
    }

    /// NAT64 prefix and its source.
    package struct Finding: Sendable {
        package let prefix: NAT64Prefix

        /// Upstream or interface that gave the prefix; nil if the prefix is from the settings.
        package var server: String?

        package let since: Instant
    }

    // A stored `package` variable would need run-time exclusivity checks.
    package var finding: Finding? { current }
    private var current: Finding?

    /// Address families that work, according to ``StackProbe``.
    package private(set) var stack = NetworkStack.none {
        didSet { detected.current = stack }
    }

    package var isIPv4Broken: Bool { stack == .v6 && probe.byRoutes == .dual }

    /// Returns servers on the Internet, with IPv4 and IPv6 addresses, for test connections.
    package var targets: @ServiceLoop () -> [SocketAddress] = { [] }

    package var onChange: (@ServiceLoop (Finding?) -> Void)?

    package var servers: @ServiceLoop () -> [any Forwarding] = { [] }

    package var prefix: NAT64Prefix? { current?.prefix }

    private var mode: Mode
    private let probe: StackProbe
    private let detected: DetectedStack
    private let clocks: Clocks

    private var testing: Task<Void, Never>?

    private var testDue: Instant?

    private var signal: CancellationSignal?
    private var timer: (any Cancellable)?
    private var failures = 0

    /// True if the network or the working address families have changed since the last call of
    /// `use`.
    private var isUnconfirmed = false

    private struct Announced {
        let prefix: NAT64Prefix
        let link: String
        let until: Instant

        let at: Instant
    }

    private var announced: Announced?

    private var pace = NetworkWatch.Pace()

    /// Time from which a discovery may change the prefix again; nil before the first change.
    private var nextChange: Instant?

    private var announcedSince: Instant?

    package init(
        _ mode: Mode,
        clocks: Clocks,
        probe: StackProbe,
        detected: DetectedStack = DetectedStack()
    ) {
        self.mode = mode
        self.clocks = clocks
        self.probe = probe
        self.detected = detected
    }

    isolated deinit {
        timer?.cancel()
        signal?.cancel()
        testing?.cancel()
    }

    package func use(_ mode: Mode) {
        guard mode != self.mode else { return }
        self.mode = mode
        networkChanged()
    }

    /// Detects the address families and the prefix of the network.
    package func networkChanged() {
        stop()
        isUnconfirmed = true
        // A recent advertisement belongs to the new network.
        if let known = announced, clocks.now() - known.at > ResolverLimits.announcement {
            announced = nil
        }
        adopt(probe.byRoutes)
        test()
    }

    private func adopt(_ families: NetworkStack) {
        failures = 0
        stack = families
        guard stack == .v6 else { return use(nil) }
        switch mode {
        case .off: use(nil)
        case .fixed(let prefix): use(Finding(prefix: prefix, since: clocks.now()))
        case .discover: useAnnounced()
        }
    }

    package func stop() {
        stopDiscovery()
        testing?.cancel()
        testing = nil
        testDue = nil
    }

    private func stopDiscovery() {
        timer?.cancel()
        timer = nil
        signal?.cancel()
        signal = nil
    }

    private func use(_ new: Finding?) {
        isUnconfirmed = false
        guard new?.prefix != current?.prefix else {
            if let new { current?.server = new.server }
            return
        }
        current = new
        onChange?(new)
    }
}

/// Returns the NAT64 prefixes of the settings and of the network.
typealias NAT64Prefixes = @ServiceLoop () -> [NAT64Prefix]

// MARK: - Router advertisements

extension NAT64 {
    /// Uses a prefix of a router advertisement, which has priority over discovery (RFC 8781 §5).
    ///
    /// After a change of the prefix, ignores other prefixes for
    /// ``ResolverLimits/announcementPause``, because each change removes cached answers.
    ///
    /// - Parameter lifetime: zero withdraws the prefix.
    package func announce(_ prefix: NAT64Prefix, on link: String, lifetime: Duration) {
        let now = clocks.now()
        let isChange = announced?.prefix != prefix || lifetime == .zero
        if isChange, lifetime > .zero, let since = announcedSince,
            now - since < ResolverLimits.announcementPause
        {
            return
        }
        if lifetime == .zero, announced?.prefix != prefix || announced?.link != link { return }
        announced =
            lifetime == .zero
            ? nil : Announced(prefix: prefix, link: link, until: now + lifetime, at: now)
        if isChange { announcedSince = now }
        guard mode == .discover, stack == .v6 else { return }
        stopDiscovery()
        useAnnounced()
    }

    private func useAnnounced() {
        let now = clocks.now()
        guard let known = announced, known.until > now else {
            announced = nil
            return discover()
        }
        use(Finding(prefix: known.prefix, server: known.link, since: now))
        timer = clocks.timer(known.until) { [weak self] in
            guard let self else { return }
            timer = nil
            useAnnounced()
        }
    }
}

// MARK: - Families

extension NAT64 {
    private func test() {
        testDue = nil
        guard testing == nil, probe.byRoutes == .dual else { return }
        testing = ServiceLoop.task { [weak self, probe, servers = targets()] in
            let families = await probe.test(servers)
            guard let self, !Task.isCancelled else { return }
            testing = nil
            tested(families)
        }
    }

    private func tested(_ families: NetworkStack) {
        // The first query after this time repeats the test. A timer would also repeat the test if
        // there are no queries.
        testDue = families == .dual ? nil : clocks.now() + ResolverLimits.stackTest
        guard families != stack else { return }
        stopDiscovery()
        isUnconfirmed = true
        adopt(families)
    }

    func noteQuery() {
        guard let testDue, clocks.now() >= testDue else { return }
        test()
    }
}

// MARK: - Discovery

extension NAT64 {
    private static let question = Question(name: .ipv4only, type: .aaaa)

    private struct Results {
        /// Shortest TTL, in seconds, of the SOAs in negative answers; nil if no answer is negative.
        var absence: UInt32?
        var hasFailure = false
    }

    private func discover() {
        let signal = CancellationSignal()
        self.signal = signal
        ask(servers()[...], signal, Results())
    }

    private func ask(
        _ servers: ArraySlice<any Forwarding>,
        _ signal: CancellationSignal,
        _ results: Results
    ) {
        guard let server = servers.first else { return end(results) }
        let deadline = clocks.now() + min(server.timeout, ResolverLimits.prefixQuery)
        let completion = Completion<Attempt> { [weak self] attempt in
            guard let self, self.signal === signal, !signal.isCancelled else { return }
            var results = results
            switch attempt.outcome {
            case .success(let reply):
                let message = reply.message(to: Self.question)
                let records = message.answers.filter { $0.type == .aaaa }
                let addresses = records.compactMap(\.data.ipv6)
                if let prefix = NAT64Prefix(discoveredIn: addresses, current: prefix) {
                    return found(prefix, server, records.map(\.ttl).min() ?? 0)
                }
                let lifetime = message.authorities.first { $0.type == .soa }?.ttl ?? 0
                results.absence = min(results.absence ?? .max, lifetime)
            case .failure:
                results.hasFailure = true
            }
            ask(servers.dropFirst(), signal, results)
        }
        // CD must be clear, because a validating DNS64 does not synthesize for CD (RFC 7050 §3).
        let query = Query(question: Self.question)
        server.ask(Attempt(query, deadline: deadline, cancellation: signal, completion))
    }

    private func found(_ prefix: NAT64Prefix, _ server: any Forwarding, _ ttl: UInt32) {
        signal = nil
        failures = 0
        // Servers can return different prefixes, and each change removes cached answers.
        let now = clocks.now()
        if prefix != current?.prefix {
            if let earliest = nextChange, now < earliest {
                return schedule(UInt32(clamping: (earliest - now).components.seconds + 1))
            }
            nextChange = now + pace.next(now)
        }
        use(Finding(prefix: prefix, server: server.name, since: clocks.now()))
        schedule(ResolverLimits.prefixLifetime.clamp(ttl))
    }

    /// Ends a discovery without a prefix.
    ///
    /// If a server failed, the current prefix stays in use, because the failed server might have
    /// returned this prefix. Exception: after a change of the network, no prefix is used.
    private func end(_ results: Results) {
        signal = nil
        if isUnconfirmed || !results.hasFailure { use(nil) }
        if let absence = results.absence, !results.hasFailure {
            failures = 0
            return schedule(ResolverLimits.prefixLifetime.clamp(absence))
        }
        let seconds = min(UInt32(1) << min(failures, 6), ResolverLimits.prefixLifetime.lowerBound)
        failures += 1
        schedule(seconds)
    }

    private func schedule(_ seconds: UInt32) {
        timer = clocks.timer(clocks.now() + .seconds(Int64(seconds))) { [weak self] in
            guard let self else { return }
            timer = nil
            discover()
        }
    }
}

extension ClosedRange<UInt32> {
    fileprivate func clamp(_ value: UInt32) -> UInt32 {
        Swift.min(Swift.max(value, lowerBound), upperBound)
    }
}

extension RecordData {
    var ipv6: IPv6Address? {
        if case .aaaa(let address) = self { address } else { nil }
    }
}

extension Name {
    /// Name with AAAA records that contain the NAT64 prefix (RFC 7050).
    static let ipv4only = Name(literal: "ipv4only.arpa")
}
