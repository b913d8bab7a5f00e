// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// An upstream over plain UDP, and TCP where UDP does not carry the reply: unprotected.
package final class PlainUpstream: Forwarding {
    package let name: String
    package let url: String
    package let isProtected = false
    package let validates: Bool
    package let timeout: Duration
    package let latency: LatencyHistogram

    /// Datagrams get lost.
    package let repeatsAfter: Duration? = .zero

    /// What was counted, without what the TCP side counts.
    private var counted = UpstreamNumbers()

    private let clocks: Clocks
    private let datagrams: DatagramAsker
    private let stream: StreamAsker
    private var random = RandomPool()

    /// Makes an upstream that is asked at `address`.
    package init(
        name: String,
        address: SocketAddress,
        timeout: Duration,
        validates: Bool = false,
        latency: LatencyHistogram = LatencyHistogram(),
        clocks: Clocks = .system
    ) {
        self.name = name
        self.timeout = timeout
        self.validates = validates
        self.latency = latency
        self.clocks = clocks
        url = address.port == 53 ? "udp://\(address.host)" : "udp://\(address)"
        datagrams = DatagramAsker(address, validates: validates, clocks: clocks)
        stream = StreamAsker(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamAsker.connect(to: address, deadline: deadline)
        }
    }

    package var numbers: UpstreamNumbers {
        var numbers = counted
        numbers.connectionsOpened = stream.opened
        numbers.connectionsReused = stream.reused
        numbers.foreignReplies = datagrams.foreignReplies + stream.foreignReplies
        return numbers
    }

    package func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        try await told(query, repeating: nil, deadline: deadline)
    }

    package func ask(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell
    ) {
        let start = clocks.now()
        datagrams.ask(query, deadline: deadline) { [self] outcome in
            switch outcome {
            case .reply(let message):
                tell(judged(message, askedAt: start))
            case .failed(let error):
                counted.note(error, at: clocks.now())
                tell(.failure(error))
            case .needsStream:
                counted.tcpRetries += 1
                ServiceLoop.task { [self] in
                    tell(await askStream(query, askedAt: start, deadline: deadline))
                }
            }
        }
    }

    package func networkChanged() {
        datagrams.renew()
        stream.drop()
    }

    /// Asks over TCP what UDP has no answer to (RFC 7766 §5).
    private func askStream(
        _ query: ForwardedQuery,
        askedAt start: ContinuousClock.Instant,
        deadline: ContinuousClock.Instant
    ) async -> Result<Message, UpstreamError> {
        let exchange = UpstreamExchange(query, over: .stream, validates: validates, random: &random)
        do throws(UpstreamError) {
            return judged(try await stream.ask(exchange, deadline: deadline), askedAt: start)
        } catch {
            counted.note(error, at: clocks.now())
            return .failure(error)
        }
    }

    /// The reply, if it is an answer; counted as what it is.
    private func judged(
        _ message: Message,
        askedAt start: ContinuousClock.Instant
    ) -> Result<Message, UpstreamError> {
        let end = clocks.now()
        do throws(UpstreamError) {
            let answer = try message.answer
            counted.note(nil, at: end)
            latency.note(end - start)
            return .success(answer)
        } catch {
            counted.note(error, at: end)
            return .failure(error)
        }
    }
}

extension Message {
    /// The message, if it is an answer.
    ///
    /// - Throws: `UpstreamError.declined`.
    var answer: Message {
        get throws(UpstreamError) {
            guard rcode == .noError || rcode == .nxDomain else { throw UpstreamError(self) }
            return self
        }
    }
}
