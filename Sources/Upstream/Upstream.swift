// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Upstream with one URL for display, and one server for each address.
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

    package var numbers: UpstreamNumbers { UpstreamNumbers(summing: servers.map(\.numbers)) }

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
