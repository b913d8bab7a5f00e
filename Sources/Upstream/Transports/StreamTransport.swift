// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Transport for DNS over TCP (RFC 7766) or TLS (DoT, RFC 7858) on a persistent connection.
package final class StreamTransport: UpstreamTransport {
    package let isProtected: Bool
    package let validates: Bool

    package let repeatsAfter: Duration? = .seconds(1)

    private let exchanger: StreamExchanger
    private var random = SystemRandomNumberGenerator()

    package init(to server: SocketAddress, validates: Bool = false, clocks: Clocks = .system) {
        self.validates = validates
        isProtected = false
        exchanger = StreamExchanger(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamExchanger.connect(to: server, deadline: deadline)
        }
    }

    /// Creates a transport over TLS with authentication as `tlsName` (strict profile, RFC 8310 §5).
    package init(
        to server: SocketAddress,
        tlsName: String,
        tls: TLSClient,
        validates: Bool = false,
        clocks: Clocks = .system
    ) {
        self.validates = validates
        isProtected = true
        exchanger = StreamExchanger(clocks, isProtected: true) {
            (deadline) async throws(UpstreamError) in
            try await StreamExchanger.connect(to: server, name: tlsName, tls, deadline: deadline)
        }
    }

    package func carry(_ attempt: Attempt) {
        let exchange = UpstreamExchange(
            attempt.query,
            over: isProtected ? .encrypted : .stream,
            usesEDNS: attempt.usesEDNS,
            validates: validates,
            random: &random
        )
        exchanger.ask(exchange, for: attempt, since: attempt.earlier)
    }

    package func count(in numbers: inout UpstreamNumbers) { exchanger.count(in: &numbers) }

    package func networkChanged() { exchanger.drop() }
}
