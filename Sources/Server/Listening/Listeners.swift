// SPDX-License-Identifier: Apache-2.0
internal import Net

/// The sockets of one listen address: one TCP listener, and for each worker the UDP socket that it
/// reads.
///
/// There is no address with one of them only (RFC 1123 §6.1.3.2, RFC 7766 §5).
@ServiceLoop
struct Listeners {
    let address: SocketAddress
    let stream: StreamListener
    let datagrams: [DatagramListener]

    /// Whether systemd keeps one of the two when we end (`Listeners+Passed.swift`).
    var isPassed = false

    /// How often a free port is looked for that both transports can have.
    private static let attempts = 16

    /// Binds TCP and UDP to the same address and port.
    ///
    /// TCP comes first, because its port is not shared: a second daemon on the same address fails
    /// here, rather than taking half of the first one's datagrams.
    init(binding wanted: SocketAddress, workers: Int) throws(SocketError) {
        var failure = SocketError.closed
        for _ in 0..<(wanted.port == 0 ? Self.attempts : 1) {
            do throws(SocketError) {
                let stream = try StreamListener(binding: wanted)
                let address = stream.localAddress ?? wanted
                var datagrams: [DatagramListener] = []
                for _ in 0..<workers {
                    datagrams.append(try DatagramListener(binding: address, shared: workers > 1))
                }
                self.address = address
                self.stream = stream
                self.datagrams = datagrams
                return
            } catch {
                failure = error
            }
        }
        throw failure
    }
}
