// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Upstream with one name and several addresses, for display.
///
/// A group selects among its ``servers``.
package final class Upstream: Forwarding {
    package let name: String
    package let url: String
    package let isProtected: Bool
    package let validates: Bool
    package let timeout: Duration
    package let latency: LatencyHistogram
    package let servers: [any Forwarding]

    private lazy var group = UpstreamGroup(servers)

    package init(url: String, servers: [any Forwarding], latency: LatencyHistogram) {
        precondition(!servers.isEmpty, "an upstream has at least one server")
        name = servers[0].name
        isProtected = servers.allSatisfy(\.isProtected)
        validates = servers.allSatisfy(\.validates)
        timeout = servers[0].timeout
        self.url = url
        self.servers = servers
        self.latency = latency
    }

    /// Sum of the servers' counters; `consecutiveFailures` is the lowest of all servers.
    package var numbers: UpstreamNumbers {
        var sum = UpstreamNumbers()
        for numbers in servers.map(\.numbers) {
            sum.queries += numbers.queries
            sum.successes += numbers.successes
            sum.failures.merge(numbers.failures, uniquingKeysWith: +)
            sum.tcpRetries += numbers.tcpRetries
            sum.foreignReplies += numbers.foreignReplies
            sum.connectionsOpened += numbers.connectionsOpened
            sum.connectionsReused += numbers.connectionsReused
            guard let latest = numbers.lastErrorAt else { continue }
            if sum.lastErrorAt.map({ $0 < latest }) ?? true {
                sum.lastError = numbers.lastError
                sum.lastErrorAt = latest
            }
        }
        let asked = servers.map(\.numbers).filter { $0.queries > 0 }
        sum.consecutiveFailures = asked.map(\.consecutiveFailures).min() ?? 0
        return sum
    }

    package func ask(_ attempt: Attempt) {
        group.ask(
            attempt.query,
            deadline: attempt.deadline,
            cancellation: attempt.cancellation,
            Completion { attempt.end($0.map(\.answer)) }
        )
    }

    package func networkChanged() {
        for server in servers { server.networkChanged() }
    }
}
