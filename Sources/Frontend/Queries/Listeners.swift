// SPDX-License-Identifier: Apache-2.0
package import Net

/// Sockets of one listen address: a TCP listener, and a UDP socket for each worker.
///
/// An address always has both transports (RFC 1123 §6.1.3.2, RFC 7766 §5).
@ServiceLoop
package struct Listeners {
    package let address: SocketAddress
    package let stream: StreamListener
    package let datagrams: [DatagramListener]

    package var isPassed = false

    /// Includes the index that the interface had at the time of the bind.
    package var boundAddress: SocketAddress { stream.localAddress ?? address }

    private static let attempts = 16

    /// Binds TCP and UDP to the same address and port.
    ///
    /// TCP comes first, because a second daemon must fail here, before it shares the UDP port
    /// (SO_REUSEPORT).
    ///
    /// - Parameter isAbsent: true to allow an address that no interface has.
    package init(
        binding wanted: SocketAddress,
        workers: Int,
        isAbsent: Bool = false
    ) throws(SocketError) {
        var failure = SocketError.closed
        for _ in 0..<(wanted.port == 0 ? Self.attempts : 1) {
            do throws(SocketError) {
                let stream = try StreamListener(binding: wanted, isAbsent: isAbsent)
                let address = stream.address ?? wanted
                var datagrams: [DatagramListener] = []
                for _ in 0..<workers {
                    datagrams.append(
                        try DatagramListener(
                            binding: address,
                            shared: workers > 1,
                            isAbsent: isAbsent
                        )
                    )
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
