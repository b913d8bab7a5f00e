// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire
package import Net
package import Upstream

/// NAT64 prefix of the network, from the settings or by discovery (RFC 7050).
///
/// There is a prefix only while the machine has IPv6 but not IPv4.
@ServiceLoop
package final class NAT64 {
    /// The setting `nat64`.
    package enum Mode: Sendable, Hashable {
        case discover
        case off
        case fixed(NAT64Prefix)
    }

    /// NAT64 prefix and its origin.
    package struct Finding: Sendable {
        package let prefix: NAT64Prefix

        /// Upstream that gave the prefix; nil if from the settings.
        package var server: String?

        package let since: Instant
    }

    package private(set) var finding: Finding?

    /// Address families of the machine at the latest network change.
    package private(set) var stack = NetworkStack.none

    package var onChange: (@ServiceLoop (Finding?) -> Void)?

    /// Returns the servers to query for the prefix, in order.
    package var servers: @ServiceLoop () -> [any Forwarding] = { [] }

    package var prefix: NAT64Prefix? { finding?.prefix }

    private var mode: Mode
    private let detect: () -> NetworkStack
    private let clocks: Clocks

    /// Signal of the discovery in flight; a network change cancels the discovery.
    private var signal: CancellationSignal?
    private var timer: (any Cancellable)?
    private var failures = 0

    /// True if the prefix is from the former network.
    private var isUnconfirmed = false

    /// Creates the object without a prefix; `networkChanged` starts discovery.
    package init(_ mode: Mode, clocks: Clocks, detect: @escaping () -> NetworkStack) {
        self.mode = mode
        self.clocks = clocks
        self.detect = detect
    }

    isolated deinit {
        timer?.cancel()
        signal?.cancel()
    }

    package func use(_ mode: Mode) {
        guard mode != self.mode else { return }
        self.mode = mode
        networkChanged()
    }

    /// Detects the address families of the network, and the prefix.
    package func networkChanged() {
        stop()
        failures = 0
        isUnconfirmed = true
        stack = detect()
        guard stack == .v6 else { return use(nil) }
        switch mode {
        case .off: use(nil)
        case .fixed(let prefix): use(Finding(prefix: prefix, since: clocks.now()))
        case .discover: discover()
        }
    }

    package func stop() {
        timer?.cancel()
        timer = nil
        signal?.cancel()
        signal = nil
    }

    private func use(_ new: Finding?) {
        isUnconfirmed = false
        guard new?.prefix != finding?.prefix else {
            if let new { finding?.server = new.server }
            return
        }
        finding = new
        onChange?(new)
    }
}

// MARK: - Discovery

extension NAT64 {
    private static let question = Question(name: .ipv4only, type: .aaaa)

    /// Results of the servers queried so far.
    private struct Results {
        /// Shortest lifetime of a negative answer, in seconds.
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
        // CD must be clear: a validating DNS64 does not synthesize for CD (RFC 7050 §3).
        let query = Query(question: Self.question)
        server.ask(Attempt(query, deadline: deadline, cancellation: signal, completion))
    }

    private func found(_ prefix: NAT64Prefix, _ server: any Forwarding, _ ttl: UInt32) {
        signal = nil
        failures = 0
        use(Finding(prefix: prefix, server: server.name, since: clocks.now()))
        schedule(ResolverLimits.prefixLifetime.clamp(ttl))
    }

    /// Ends a discovery without a prefix.
    ///
    /// The known prefix stays if a server failed: that server may have returned the prefix.
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
    /// Name with AAAA records that show the NAT64 prefix (RFC 7050).
    static let ipv4only = Name(literal: "ipv4only.arpa")
}
