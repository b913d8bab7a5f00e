// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// How soon servers answered when they were last tried: what puts the addresses of a name in order.
///
/// A value without a clock.  What it knows is forgotten after some minutes, and is bounded.
package struct AddressRanking {
    /// A server as a client would connect to it.
    package struct Target: Hashable, Sendable {
        package var address: IPAddress
        package var port: UInt16

        package init(_ address: IPAddress, port: UInt16) {
            self.address = address
            self.port = port
        }
    }

    /// What a try came to.
    private struct Result {
        /// nil if nobody answered.
        let latency: Duration?
        let until: ContinuousClock.Instant
    }

    private var results: [Target: Result] = [:]

    /// Servers that are known at once.
    static let limit = 4_096

    /// How long a result counts.
    static let lifetime: Duration = .seconds(300)

    /// Latencies that differ by less are the same: the order must not follow every breath of the
    /// network, as a client's connection is worth more than a few milliseconds.
    static let step: Duration = .milliseconds(10)

    init() {}

    /// How many servers are known.
    var count: Int { results.count }

    /// Notes what a try came to; nil if nobody answered.
    mutating func note(_ target: Target, _ latency: Duration?, now: ContinuousClock.Instant) {
        if results[target] == nil, results.count >= Self.limit { makeRoom(now) }
        results[target] = Result(latency: latency, until: now + Self.lifetime)
    }

    /// Whether it is known how soon a server answers.
    func knows(_ target: Target, now: ContinuousClock.Instant) -> Bool {
        results[target].map { now < $0.until } ?? false
    }

    /// The same addresses, the fastest first, then those that nobody knows, then those that did not
    /// answer; each group in the order in which it came.
    func ordered(
        _ addresses: [IPAddress],
        port: UInt16,
        now: ContinuousClock.Instant
    ) -> [IPAddress] {
        addresses.enumerated()
            .map { (rank($1, port, now), $0, $1) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map(\.2)
    }

    /// Forgets everything: the network is another one.
    mutating func removeAll() { results = [:] }

    /// The steps that an answer took.
    private func rank(
        _ address: IPAddress,
        _ port: UInt16,
        _ now: ContinuousClock.Instant
    ) -> Int {
        guard let result = results[Target(address, port: port)], now < result.until else {
            return .max - 1
        }
        return result.latency.map { Int($0 / Self.step) } ?? .max
    }

    /// Forgets what does not count any more, and if that is nothing, half of the rest.
    private mutating func makeRoom(_ now: ContinuousClock.Instant) {
        results = results.filter { now < $0.value.until }
        guard results.count >= Self.limit else { return }
        let median = results.values.map(\.until).sorted()[Self.limit / 2]
        results = results.filter { $0.value.until > median }
    }
}
