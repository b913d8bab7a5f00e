// SPDX-License-Identifier: Apache-2.0
import Net

/// A datagram socket whose datagrams are waited for, one after the other.
@ServiceLoop
final class DatagramClient: DatagramReceiving {
    private var socket: DatagramSocket?
    private var datagrams: [[UInt8]] = []
    private var error: SocketError?
    private var waiter: Waiter?

    init(connectedTo peer: SocketAddress) throws(SocketError) {
        socket = nil
        socket = try DatagramSocket(connectedTo: peer, receiver: self)
    }

    var localAddress: SocketAddress? { socket?.localAddress }

    func send(_ datagram: [UInt8]) throws(SocketError) { try socket?.send(datagram) }

    /// The next datagram.
    func receive(deadline: ContinuousClock.Instant) async throws(SocketError) -> [UInt8] {
        while datagrams.isEmpty {
            if let error { throw error }
            let waiter = Waiter()
            self.waiter = waiter
            guard await waiter.wait(until: deadline) == .ready else { throw .timedOut }
        }
        return datagrams.removeFirst()
    }

    func close() { socket?.close() }

    func received(_ octets: Span<UInt8>) {
        datagrams.append(octets.indices.map { octets[$0] })
        waiter?.resume(.ready)
    }

    func failed(_ error: SocketError) {
        self.error = error
        close()
        waiter?.resume(.ready)
    }
}
