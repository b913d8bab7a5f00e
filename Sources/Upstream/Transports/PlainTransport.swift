// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// Unprotected DNS over UDP, with TCP for replies that UDP cannot carry.
package final class PlainTransport: UpstreamTransport {
    package let isProtected = false
    package let validates: Bool

    /// UDP loses datagrams, so queries are repeated without delay.
    package let repeatsAfter: Duration? = .zero

    private var tcpRetries: UInt64 = 0

    private let datagrams: DatagramAsker
    private let stream: StreamAsker
    private var random = RandomPool()

    /// Creates a transport to `address`.
    package init(
        to address: SocketAddress,
        validates: Bool = false,
        clocks: Clocks = .system
    ) {
        self.validates = validates
        datagrams = DatagramAsker(address, validates: validates, clocks: clocks)
        stream = StreamAsker(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamAsker.connect(to: address, deadline: deadline)
        }
    }

    package func carry(
        _ query: ForwardedQuery,
        repeating earlier: ContinuousClock.Instant?,
        deadline: ContinuousClock.Instant,
        _ place: Trace.Place?,
        _ tell: @escaping @ServiceLoop (Result<Message, UpstreamError>) -> Void
    ) {
        datagrams.ask(query, deadline: deadline) { [self] outcome in
            switch outcome {
            case .reply(let message):
                tell(.success(message))
            case .failed(let error):
                tell(.failure(error))
            case .needsStream:
                tcpRetries += 1
                let exchange = UpstreamExchange(
                    query,
                    over: .stream,
                    validates: validates,
                    random: &random
                )
                stream.ask(exchange, since: nil, deadline: deadline, nil, tell)
            }
        }
    }

    package func count(in numbers: inout UpstreamNumbers) {
        stream.count(in: &numbers)
        numbers.tcpRetries = tcpRetries
        numbers.foreignReplies += datagrams.foreignReplies
    }

    package var forgeries: UInt64 { datagrams.forgeries }

    package func networkChanged() {
        datagrams.renew()
        stream.drop()
    }
}
