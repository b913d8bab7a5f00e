// SPDX-License-Identifier: Apache-2.0
package import Net

/// Upstream with servers from the network or a file, which change at run time.
package final class LearnedUpstream: Forwarding {
    package let name: String
    package let url: String
    package let timeout: Duration
    package let latency: LatencyHistogram

    /// False, because an untrusted network can choose the servers.
    package let isProtected = false

    package private(set) var servers: [any Forwarding] = []

    /// Number of spare servers, which are at the end of ``servers``.
    package private(set) var spareCount = 0

    private var absence = "the network offers no DNS server"

    private(set) var version = 0

    private var former = UpstreamNumbers()

    /// Object that supplies the servers; this upstream retains the object.
    package var source: AnyObject?

    /// Creates an upstream without servers.
    package init(
        name: String,
        url: String,
        timeout: Duration,
        latency: LatencyHistogram = LatencyHistogram()
    ) {
        self.name = name
        self.url = url
        self.timeout = timeout
        self.latency = latency
    }

    /// Replaces the servers.
    ///
    /// - Parameter absence: the reason if `main` is empty; nil keeps the former reason.
    package func use(
        _ main: [any Forwarding],
        spares: [any Forwarding] = [],
        absence: String? = nil
    ) {
        if let absence { self.absence = absence }
        let servers = main + spares
        guard
            spares.count != spareCount
                || !servers.elementsEqual(self.servers, by: { $0 === $1 })
        else { return }
        for server in self.servers where !servers.contains(where: { $0 === server }) {
            former.add(server.numbers)
        }
        // An error of a removed server does not describe the present servers.
        (former.lastError, former.lastErrorAt) = (nil, nil)
        self.servers = servers
        spareCount = spares.count
        version += 1
    }

    package var error: UpstreamError { .noServer(absence) }

    package var numbers: UpstreamNumbers {
        var sum = UpstreamNumbers(summing: servers.map(\.numbers))
        sum.add(former)
        return sum
    }

    package func ask(_ attempt: Attempt) {
        guard let first = servers.first else { return attempt.end(.failure(error)) }
        first.ask(attempt)
    }

    package func networkChanged() {
        for server in servers { server.networkChanged() }
    }
}

extension UpstreamNumbers {
    /// Sums counters of servers; `consecutiveFailures` is the lowest value of all queried servers.
    init(summing all: [UpstreamNumbers]) {
        self.init()
        for numbers in all { add(numbers) }
        let asked = all.filter { $0.queries > 0 }
        consecutiveFailures = asked.map(\.consecutiveFailures).min() ?? 0
    }

    /// Adds the counters of a server, except `consecutiveFailures`.
    mutating func add(_ other: UpstreamNumbers) {
        queries += other.queries
        successes += other.successes
        failures.merge(other.failures, uniquingKeysWith: +)
        tcpRetries += other.tcpRetries
        foreignReplies += other.foreignReplies
        connectionsOpened += other.connectionsOpened
        connectionsReused += other.connectionsReused
        guard let latest = other.lastErrorAt else { return }
        if lastErrorAt.map({ $0 < latest }) ?? true {
            lastError = other.lastError
            lastErrorAt = latest
        }
    }
}
