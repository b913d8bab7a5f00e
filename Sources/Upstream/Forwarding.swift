// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// An upstream resolver, whatever it is spoken to through.
@ServiceLoop
package protocol Forwarding: AnyObject, Sendable {
    /// Its name in the settings.
    nonisolated var name: String { get }

    /// Its address as the settings write it, such as `udp://192.0.2.53`.
    nonisolated var url: String { get }

    /// Whether what it says is safe from being read and changed on the way.
    nonisolated var isProtected: Bool { get }

    /// Whether it is asked for AD and believed when it says it: that it validated the answer
    /// (RFC 4035 §3.2.3).
    nonisolated var validates: Bool { get }

    /// How long one exchange may take before the next upstream is asked.
    nonisolated var timeout: Duration { get }

    /// How long the exchanges took that brought a reply.
    nonisolated var latency: LatencyHistogram { get }

    /// How soon it may be asked again while it has not answered: at once where datagrams get lost,
    /// later where only a dead connection does; nil for never.
    nonisolated var repeatsAfter: Duration? { get }

    /// The servers behind the name, each of which is chosen and judged by itself: itself, or more.
    var servers: [any Forwarding] { get }

    /// How often a socket was closed because of messages that answered no query.
    var forgeries: UInt64 { get }

    /// What has become of the queries sent to it.
    var numbers: UpstreamNumbers { get }

    /// Asks once, and waits no longer than `deadline`.
    ///
    /// - Parameters:
    ///   - earlier: when the same was asked in vain, if it was: it is not asked on a connection that has
    ///     been silent since.
    ///   - place: told what is known of the exchange, if somebody traces it.
    ///   - tell: called once, perhaps before this returns, with a reply to exactly this query, with
    ///     RCODE NOERROR or NXDOMAIN, whole.
    func ask(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place?,
        _ tell: @escaping @ServiceLoop (Result<Message, UpstreamError>) -> Void
    )

    /// Drops what belongs to the network as it was: connections.  Queries under way are asked again.
    func networkChanged()
}

extension Forwarding {
    package nonisolated var validates: Bool { false }

    package nonisolated var repeatsAfter: Duration? { nil }

    package var servers: [any Forwarding] { [self] }

    package var forgeries: UInt64 { 0 }

    /// What ``ask(_:repeating:deadline:_:_:)`` tells, for whoever waits in a task.
    package func exchange(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant? = nil,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        try await withCheckedContinuation { continuation in
            ask(query, repeating: earlier, deadline: deadline, nil) {
                continuation.resume(returning: $0)
            }
        }.get()
    }

    package func networkChanged() {}
}

/// Counts of one upstream since the start.
package struct UpstreamNumbers: Sendable, Equatable {
    package var queries: UInt64 = 0
    package var successes: UInt64 = 0

    /// Failures by `UpstreamError.kind`.
    package var failures: [String: UInt64] = [:]

    /// Queries asked again over TCP.
    package var tcpRetries: UInt64 = 0

    /// Messages from the right address that answered no question of ours.
    package var foreignReplies: UInt64 = 0

    /// Connections begun, also those that came to nothing; of HTTP only those that brought a reply.
    package var connectionsOpened: UInt64 = 0

    /// Queries put on a connection that there was already; of HTTP only those that brought a reply.
    package var connectionsReused: UInt64 = 0

    package var lastError: UpstreamError?
    package var lastErrorAt: ContinuousClock.Instant?

    /// Failures since the last success.
    package var consecutiveFailures: UInt64 = 0

    package init() {}

    /// Notes how a query ended, and when.
    mutating func note(_ failure: UpstreamError?, at end: ContinuousClock.Instant) {
        queries += 1
        if let failure {
            failures[failure.kind, default: 0] += 1
            lastError = failure
            lastErrorAt = end
            consecutiveFailures += 1
        } else {
            successes += 1
            consecutiveFailures = 0
        }
    }
}
