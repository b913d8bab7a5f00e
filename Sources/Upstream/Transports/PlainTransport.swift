// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Transport for unprotected DNS over UDP, with TCP for replies that UDP cannot carry.
package final class PlainTransport: UpstreamTransport {
    package let isProtected = false
    package let validates: Bool

    package let repeatsAfter: Duration? = .zero

    private var tcpRetries: UInt64 = 0

    private let datagrams: UDPExchanger
    private let stream: StreamExchanger
    private var random = RandomPool()

    package init(
        to address: SocketAddress,
        validates: Bool = false,
        clocks: Clocks = .system
    ) {
        self.validates = validates
        datagrams = UDPExchanger(address, validates: validates, clocks: clocks)
        stream = StreamExchanger(clocks) { (deadline) async throws(UpstreamError) in
            try await StreamExchanger.connect(to: address, deadline: deadline)
        }
    }

    package func carry(_ attempt: Attempt) { datagrams.ask(attempt, of: self) }

    /// Repeats a query over TCP after a truncated or possibly forged UDP reply (RFC 7766 §5).
    func repeatOverStream(_ attempt: Attempt) {
        tcpRetries += 1
        let exchange = UpstreamExchange(
            attempt.query,
            over: .stream,
            usesEDNS: attempt.usesEDNS,
            validates: validates,
            random: &random
        )
        stream.ask(exchange, for: attempt, since: nil)
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
