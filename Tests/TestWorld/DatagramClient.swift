// SPDX-License-Identifier: Apache-2.0
package import Net

/// UDP client for tests; its function `receive` waits for a datagram.
@ServiceLoop
package final class DatagramClient: DatagramReceiving {
    private var socket: DatagramSocket?
    private var datagrams: [[UInt8]] = []
    private var error: SocketError?
    private var waiter: Waiter?

    package init(connectedTo peer: SocketAddress) throws(SocketError) {
        socket = nil
        socket = try DatagramSocket(connectedTo: peer, receiver: self)
    }

    package var localAddress: SocketAddress? { socket?.localAddress }

    package var hasReceived: Bool { !datagrams.isEmpty }

    package func send(_ datagram: [UInt8]) throws(SocketError) { try socket?.send(datagram) }

    package func receive(deadline: Instant) async throws(SocketError) -> [UInt8] {
        while datagrams.isEmpty {
            if let error { throw error }
            let waiter = Waiter()
            self.waiter = waiter
            guard await waiter.wait(until: deadline) == .ready else { throw .timedOut }
        }
        return datagrams.removeFirst()
    }

    package func close() { socket?.close() }

    package func received(_ octets: Span<UInt8>) {
        datagrams.append(octets.indices.map { octets[$0] })
        waiter?.resume(.ready)
    }

    package func failed(_ error: SocketError) {
        self.error = error
        close()
        waiter?.resume(.ready)
    }
}
