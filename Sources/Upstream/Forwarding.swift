// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Upstream resolver, independent of its transport.
@ServiceLoop
package protocol Forwarding: AnyObject, Sendable {
    nonisolated var name: String { get }

    nonisolated var url: String { get }

    /// True if replies are encrypted and authenticated.
    nonisolated var isProtected: Bool { get }

    /// True if TLS encrypts the queries, even if the network has chosen the server.
    nonisolated var isEncrypted: Bool { get }

    /// True if the daemon sets AD in queries and trusts AD in replies (RFC 4035 §3.2.3).
    nonisolated var validates: Bool { get }

    nonisolated var timeout: Duration { get }

    nonisolated var latency: LatencyHistogram { get }

    /// Minimum time before an unanswered query is sent to the same server again; nil for never.
    ///
    /// Zero for UDP, because datagrams get lost.
    nonisolated var repeatsAfter: Duration? { get }

    var servers: [any Forwarding] { get }

    /// Number of UDP sockets that the daemon closed because of possibly forged replies.
    var forgeries: UInt64 { get }

    var numbers: UpstreamNumbers { get }

    /// Sends the query of `attempt` once, and ends `attempt` with the result.
    ///
    /// The attempt ends by `attempt.deadline`, possibly before `ask` returns. A successful reply is
    /// complete, matches the query, and has RCODE NOERROR, NXDOMAIN, or YXDOMAIN with a DNAME.
    func ask(_ attempt: Attempt)

    /// Drops all connections after a network change; queries in flight are retried.
    func networkChanged()
}

extension Forwarding {
    package nonisolated var validates: Bool { false }

    package nonisolated var repeatsAfter: Duration? { nil }

    package var servers: [any Forwarding] { [self] }

    package var forgeries: UInt64 { 0 }

    /// Sends a query and returns the decoded reply.
    package func exchange(
        _ query: Query,
        repeating earlier: Instant? = nil,
        deadline: Instant,
        cancellation: CancellationSignal? = nil
    ) async throws(UpstreamError) -> Message {
        let outcome = await withCheckedContinuation { continuation in
            let completion = Completion<Attempt> { continuation.resume(returning: $0.outcome) }
            ask(
                Attempt(
                    query,
                    deadline: deadline,
                    repeating: earlier,
                    cancellation: cancellation,
                    completion
                )
            )
        }
        return try outcome.get().message(to: query.question)
    }

    package func networkChanged() {}
}

package struct UpstreamNumbers: Sendable, Equatable {
    package var queries: UInt64 = 0
    package var successes: UInt64 = 0

    package var failures: [String: UInt64] = [:]

    package var tcpRetries: UInt64 = 0

    package var foreignReplies: UInt64 = 0

    /// An HTTPS server counts only connections with a reply.
    package var connectionsOpened: UInt64 = 0

    /// An HTTPS server counts only queries with a reply.
    package var connectionsReused: UInt64 = 0

    package var lastError: UpstreamError?
    package var lastErrorAt: Instant?

    package var consecutiveFailures: UInt64 = 0

    package init() {}

    mutating func note(_ failure: UpstreamError, at end: Instant) {
        queries += 1
        failures[failure.kind, default: 0] += 1
        lastError = failure
        lastErrorAt = end
    }
}

extension Forwarding {
    package nonisolated var isEncrypted: Bool { isProtected }
}
