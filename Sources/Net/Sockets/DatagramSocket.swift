// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// A UDP socket of our own to one peer.
///
/// Connected, so the kernel drops what comes from any other address (RFC 5452 §9.1), chooses an
/// unpredictable port, and tells of ICMP errors: a closed port is ECONNREFUSED at the next call.
@ServiceLoop
package final class DatagramSocket {
    private let endpoint: Endpoint

    /// Opens a socket to `peer`; sends nothing.
    package init(connectedTo peer: SocketAddress) throws(SocketError) {
        let descriptor = try OwnedDescriptor.socket(peer.isIPv6 ? AF_INET6 : AF_INET, SOCK_DGRAM)
        // SAFETY: the pointer is valid during the call.
        let status = unsafe peer.withSockaddr { unsafe Glibc.connect(descriptor.raw, $0, $1) }
        guard status == 0 else { throw .last("connect") }
        endpoint = try Endpoint(descriptor, writes: false)
    }

    /// The address the kernel chose for this end; nil once closed.
    package var localAddress: SocketAddress? { endpoint.localAddress }

    /// Sends one datagram without waiting: a full send buffer is an error, like any loss.
    package func send(_ datagram: [UInt8]) throws(SocketError) {
        let raw = try endpoint.raw
        while true {
            // SAFETY: exactly the array's octets are read.
            let count = unsafe Glibc.send(raw, datagram, datagram.count, Int32(MSG_NOSIGNAL))
            if count >= 0 { return }
            guard errno == EINTR else { throw .last("send") }
        }
    }

    /// The next datagram, at most 65 535 octets; an empty one is a datagram, too.
    package func receive(
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) -> [UInt8] {
        while true {
            let datagram = try ReceiveBuffer.receive(
                from: try endpoint.attempt(.reading),
                upTo: ReceiveBuffer.capacity
            )
            if let datagram { return datagram }
            try await endpoint.wait(for: .reading, until: deadline)
        }
    }

    /// Closes the socket; who waits on it gets `SocketError.closed`.
    package func close() { endpoint.close() }
}
