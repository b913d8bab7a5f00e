// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// An upstream over TCP (RFC 7766) or TLS (DoT, RFC 7858), on one connection that is kept.
package final class StreamUpstream: Forwarding {
    package let name: String
    package let url: String
    package let isProtected: Bool
    package let validates: Bool
    package let timeout: Duration
    package let latency: LatencyHistogram

    /// A slow answer is the server's affair; a silent connection may be dead.
    package let repeatsAfter: Duration? = .seconds(1)

    private let clocks: Clocks
    private let asker: StreamAsker
    private var counted = UpstreamNumbers()
    private var random = SystemRandomNumberGenerator()

    /// Makes an upstream that is asked over TCP: unprotected.
    package init(
        name: String,
        url: String,
        server: SocketAddress,
        timeout: Duration,
        validates: Bool = false,
        latency: LatencyHistogram = LatencyHistogram(),
        clocks: Clocks = .system
    ) {
        self.name = name
        self.url = url
        self.timeout = timeout
        self.validates = validates
        self.latency = latency
        self.clocks = clocks
        isProtected = false
        asker = StreamAsker(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamAsker.connect(to: server, deadline: deadline)
        }
    }

    /// Makes an upstream that is asked over TLS, and only if it proves to be `tlsName`: the strict
    /// profile (RFC 8310 §5).
    package init(
        name: String,
        url: String,
        server: SocketAddress,
        tlsName: String,
        tls: TLSClient,
        timeout: Duration,
        validates: Bool = false,
        latency: LatencyHistogram = LatencyHistogram(),
        clocks: Clocks = .system
    ) {
        self.name = name
        self.url = url
        self.timeout = timeout
        self.validates = validates
        self.latency = latency
        self.clocks = clocks
        isProtected = true
        asker = StreamAsker(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamAsker.connect(to: server, name: tlsName, tls, deadline: deadline)
        }
    }

    package var numbers: UpstreamNumbers {
        var numbers = counted
        numbers.connectionsOpened = asker.opened
        numbers.connectionsReused = asker.reused
        numbers.foreignReplies = asker.foreignReplies
        return numbers
    }

    package func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        try await exchange(query, since: nil, deadline: deadline)
    }

    package func repeatExchange(
        _ query: ForwardedQuery,
        askedAt earlier: ContinuousClock.Instant,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        try await exchange(query, since: earlier, deadline: deadline)
    }

    package func ask(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place?,
        _ tell: @escaping Tell
    ) {
        ServiceLoop.task { [self] in
            do throws(UpstreamError) {
                tell(.success(try await exchange(query, since: earlier, deadline: deadline, place)))
            } catch {
                tell(.failure(error))
            }
        }
    }

    package func networkChanged() { asker.drop() }

    /// Asks, and counts what comes of it.
    private func exchange(
        _ query: ForwardedQuery,
        since: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place? = nil
    ) async throws(UpstreamError) -> Message {
        let start = clocks.now()
        do throws(UpstreamError) {
            let message = try await asker.ask(
                UpstreamExchange(
                    query,
                    over: isProtected ? .encrypted : .stream,
                    validates: validates,
                    random: &random
                ),
                since: since,
                deadline: deadline,
                place
            ).answer
            let end = clocks.now()
            counted.note(nil, at: end)
            latency.note(end - start)
            return message
        } catch {
            counted.note(error, at: clocks.now())
            throw error
        }
    }
}
