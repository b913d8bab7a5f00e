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
    package let timeout: Duration
    package let latency = LatencyHistogram()
    package private(set) var numbers = UpstreamNumbers()

    private let address: SocketAddress
    private var random = SystemRandomNumberGenerator()

    /// Makes an upstream that is asked at `address`.
    package init(name: String, address: SocketAddress, timeout: Duration) {
        self.name = name
        self.timeout = timeout
        self.address = address
        url = address.port == 53 ? "udp://\(address.host)" : "udp://\(address)"
    }

    package func exchange(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        let start = Clock.now
        do throws(UpstreamError) {
            let message = try await ask(query, deadline: deadline)
            guard message.rcode == .noError || message.rcode == .nxDomain else {
                throw .declined(message.rcode)
            }
            let end = Clock.now
            numbers.note(nil, at: end)
            latency.note(end - start)
            return message
        } catch {
            numbers.note(error, at: Clock.now)
            throw error
        }
    }

    /// One exchange over UDP, then over TCP if need be.
    private func ask(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        let exchange = UpstreamExchange(query, random: &random)
        do throws(SocketError) {
            let socket = try DatagramSocket(connectedTo: address)
            defer { socket.close() }
            try socket.send(exchange.message)
            waiting: while true {
                switch exchange.judge(try await socket.receive(deadline: deadline)) {
                case .reply(let message): return message
                case .foreign: numbers.foreignReplies += 1
                case .truncated, .caseLost: break waiting
                }
            }
        } catch {
            throw UpstreamError(error)
        }
        numbers.tcpRetries += 1
        return try await askStream(exchange, deadline: deadline)
    }

    /// The same query over a TCP connection of its own (RFC 7766 §5).
    private func askStream(
        _ exchange: UpstreamExchange,
        deadline: ContinuousClock.Instant
    ) async throws(UpstreamError) -> Message {
        let octets: [UInt8]
        do throws(SocketError) {
            let stream = try await StreamConnection.connect(to: address, deadline: deadline)
            defer { stream.close() }
            let count = exchange.message.count
            try await stream.write(
                [UInt8(count >> 8), UInt8(count & 0xFF)] + exchange.message,
                deadline: deadline
            )
            let length = try await Self.read(2, from: stream, deadline: deadline)
            octets = try await Self.read(
                Int(length[0]) << 8 | Int(length[1]),
                from: stream,
                deadline: deadline
            )
        } catch {
            throw UpstreamError(error)
        }
        guard let message = exchange.judgeStream(octets) else {
            throw .broken("sent something else than the reply over TCP")
        }
        return message
    }

    /// Reads exactly `count` octets.
    private static func read(
        _ count: Int,
        from stream: StreamConnection,
        deadline: ContinuousClock.Instant
    ) async throws(SocketError) -> [UInt8] {
        var octets: [UInt8] = []
        while octets.count < count {
            let more = try await stream.read(upTo: count - octets.count, deadline: deadline)
            guard !more.isEmpty else { throw .closed }
            octets += more
        }
        return octets
    }
}

extension UpstreamError {
    /// A socket's fault as the upstream's.
    init(_ error: SocketError) {
        switch error {
        case .timedOut: self = .timedOut
        case .closed: self = .broken("closed the TCP connection before the reply")
        default: self = .unreachable(error.description)
        }
    }
}
