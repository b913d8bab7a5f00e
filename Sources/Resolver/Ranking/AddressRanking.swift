// SPDX-License-Identifier: Apache-2.0
package import DNSWire
internal import Net

/// Connection times to addresses, by which answers are ordered.
package struct AddressRanking {
    package struct Target: Hashable, Sendable {
        package var address: IPAddress
        package var port: UInt16

        package init(_ address: IPAddress, port: UInt16) {
            self.address = address
            self.port = port
        }
    }

    private struct Result {
        /// Connection time; nil if the server did not accept the connection.
        let latency: Duration?
        let until: Instant
    }

    private var results: [Target: Result] = [:]

    static let limit = 4_096

    static let lifetime: Duration = .seconds(300)

    /// Unit in which connection times are compared, so that small variations do not change the
    /// order.
    static let step: Duration = .milliseconds(10)

    init() {}

    var count: Int { results.count }

    mutating func note(_ target: Target, _ latency: Duration?, now: Instant) {
        if results[target] == nil, results.count >= Self.limit { makeRoom(now) }
        results[target] = Result(latency: latency, until: now + Self.lifetime)
    }

    func knows(_ target: Target, now: Instant) -> Bool {
        results[target].map { now < $0.until } ?? false
    }

    /// Orders the addresses by connection time.
    ///
    /// Reachable addresses come first, then addresses without a result, then unreachable addresses.
    /// Addresses with the same connection time, in steps of ``step``, keep their order.
    func ordered(
        _ addresses: [IPAddress],
        port: UInt16,
        now: Instant
    ) -> [IPAddress] {
        addresses.enumerated()
            .map { (rank($1, port, now), $0, $1) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map(\.2)
    }

    mutating func removeAll() { results = [:] }

    private func rank(
        _ address: IPAddress,
        _ port: UInt16,
        _ now: Instant
    ) -> Int {
        guard let result = results[Target(address, port: port)], now < result.until else {
            return .max - 1
        }
        return result.latency.map { Int($0 / Self.step) } ?? .max
    }

    private mutating func makeRoom(_ now: Instant) {
        results = results.filter { now < $0.value.until }
        guard results.count >= Self.limit else { return }
        let median = results.values.map(\.until).sorted()[Self.limit / 2]
        results = results.filter { $0.value.until > median }
    }
}
