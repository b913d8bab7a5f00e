// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// One server that queries are forwarded to: asks it over its transport, and keeps count of what comes of that.
package final class Forwarder: Forwarding {
    package let name: String
    package let url: String
    package let timeout: Duration
    package let latency: LatencyHistogram

    private let transport: any UpstreamTransport
    private let clocks: Clocks

    /// What was counted, without what the transport counts.
    private var counted = UpstreamNumbers()

    /// Makes a server that nothing is sent to yet.
    ///
    /// - Parameters:
    ///   - url: what people are shown.
    ///   - latency: what the server notes its latencies in.
    package init(
        name: String,
        url: String,
        timeout: Duration,
        over transport: any UpstreamTransport,
        latency: LatencyHistogram = LatencyHistogram(),
        clocks: Clocks = .system
    ) {
        self.name = name
        self.url = url
        self.timeout = timeout
        self.transport = transport
        self.latency = latency
        self.clocks = clocks
    }

    package var isProtected: Bool { transport.isProtected }

    package var validates: Bool { transport.validates }

    package var repeatsAfter: Duration? { transport.repeatsAfter }

    package var numbers: UpstreamNumbers {
        var numbers = counted
        transport.count(in: &numbers)
        return numbers
    }

    package func ask(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place?,
        _ tell: @escaping @ServiceLoop (Result<Message, UpstreamError>) -> Void
    ) {
        let start = clocks.now()
        transport.carry(query, repeating: earlier, deadline: deadline, place) { [self] reply in
            let end = clocks.now()
            do throws(UpstreamError) {
                let answer = try reply.get().answer
                counted.note(nil, at: end)
                latency.note(end - start)
                tell(.success(answer))
            } catch {
                counted.note(error, at: end)
                tell(.failure(error))
            }
        }
    }

    package func networkChanged() { transport.networkChanged() }
}

extension Message {
    /// The message, if it is an answer.
    ///
    /// - Throws: `UpstreamError.declined`.
    fileprivate var answer: Message {
        get throws(UpstreamError) {
            guard rcode == .noError || rcode == .nxDomain else { throw UpstreamError(self) }
            return self
        }
    }
}
