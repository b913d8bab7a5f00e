// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import Net

/// An upstream over plain UDP, and TCP where UDP does not carry the reply: unprotected.
///
/// Every query has a socket of its own, connected to the upstream: the kernel picks its port at
/// random and lets in nothing from any other address (RFC 5452 §9.2).
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

    private let address: SocketAddress
    private let clocks: Clocks
    private let stream: StreamAsker
    private var random = SystemRandomNumberGenerator()

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
        self.address = address
        self.latency = latency
        self.clocks = clocks
        url = address.port == 53 ? "udp://\(address.host)" : "udp://\(address)"
        stream = StreamAsker(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamAsker.connect(to: address, deadline: deadline)
        }
    }

    package var numbers: UpstreamNumbers {
        var numbers = counted
        numbers.connectionsOpened = stream.opened
        numbers.connectionsReused = stream.reused
        numbers.foreignReplies += stream.foreignReplies
        return numbers
    }

    package func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        let start = clocks.now()
        do throws(UpstreamError) {
            let message = try await ask(query, deadline: deadline).answer
            let end = clocks.now()
            counted.note(nil, at: end)
            latency.note(end - start)
            return message
        } catch {
            counted.note(error, at: clocks.now())
            throw error
        }
    }

    package func networkChanged() { stream.drop() }

    /// One exchange over UDP, then over TCP if need be (RFC 7766 §5).
    private func ask(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        let exchange = UpstreamExchange(query, validates: validates, random: &random)
        do throws(SocketError) {
            let socket = try DatagramSocket(connectedTo: address)
            defer { socket.close() }
            try socket.send(exchange.message)
            waiting: while true {
                switch exchange.judge(try await socket.receive(deadline: deadline)) {
                case .reply(let message): return message
                case .foreign: counted.foreignReplies += 1
                case .truncated, .caseLost: break waiting
                }
            }
        } catch {
            throw UpstreamError(error)
        }
        counted.tcpRetries += 1
        return try await stream.ask(
            UpstreamExchange(query, over: .stream, validates: validates, random: &random),
            deadline: deadline
        )
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
