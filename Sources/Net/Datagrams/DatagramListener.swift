// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import Synchronization

/// Bound UDP socket that receives queries; each worker has one.
///
/// The socket is blocking, because a worker waits for nothing else. Waiting in `recvmmsg` takes
/// 4 to 6 % less CPU time per query than epoll.
package final class DatagramListener: Sendable {
    private let owned: OwnedDescriptor

    /// Bound address, with the port chosen by the kernel if port 0 was requested.
    package let address: SocketAddress

    /// True if each datagram is received with its destination address.
    package let reportsDestination: Bool

    /// Number of receive calls (recvmmsg) of all workers that returned datagrams of this socket.
    package let batches = Atomic<UInt64>(0)

    /// True if another process, such as systemd, keeps the socket when this process ends.
    ///
    /// The state of such a socket must not be changed permanently.
    package let isAdopted: Bool

    /// Size of the receive buffer in octets: sufficient for a burst of 10,000 queries.
    ///
    /// The usual default of 208 KiB overflows at 277 queries.
    private static let bufferOctets: Int32 = 4 << 20

    var descriptor: Int32 { owned.raw }

    /// Binds a socket.
    ///
    /// - Parameter shared: true if several sockets of this process share the address
    ///   (SO_REUSEPORT); the kernel then distributes clients among them.
    /// - Throws: `SocketError.system` with the call that failed.
    package init(binding address: SocketAddress, shared: Bool) throws(SocketError) {
        let family = address.isIPv6 ? AF_INET6 : AF_INET
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        owned = try OwnedDescriptor(Glibc.socket(family, type, 0), from: "socket")
        reportsDestination = address.isUnspecified
        isAdopted = false
        if shared { try owned.set(SO_REUSEPORT, at: SOL_SOCKET, to: 1) }
        if address.isIPv6 { try owned.set(IPV6_V6ONLY, at: Int32(IPPROTO_IPV6), to: 1) }
        try Self.prepare(owned, for: address)
        try owned.bind(to: address)
        self.address = owned.localAddress ?? address
    }

    /// Takes over a bound socket received from systemd.
    ///
    /// Several workers may wait on the socket: the kernel passes each datagram to one of them.
    package init(adopting socket: PassedSocket) throws(SocketError) {
        owned = OwnedDescriptor(taking: socket.descriptor)
        address = socket.address
        reportsDestination = address.isUnspecified
        isAdopted = true
        let flags = fcntl(owned.raw, F_GETFL)
        guard flags >= 0, fcntl(owned.raw, F_SETFL, flags & ~O_NONBLOCK) == 0 else {
            throw .last("fcntl")
        }
        try Self.prepare(owned, for: address)
    }

    /// True if the socket has received datagrams that no worker has read.
    package var hasUnreadDatagrams: Bool { datagrams_are_unread(owned.raw) == 1 }

    /// Wakes the thread that waits in `DatagramBatch.receive`; the socket receives nothing
    /// afterwards.
    ///
    /// On Linux, shutdown(2) wakes readers even of an unconnected socket, although it fails with
    /// ENOTCONN. It would make an adopted socket unusable for the next process.
    /// `WorkerThread.joinInterrupting` wakes the readers of an adopted socket instead.
    package func stopReceiving() {
        if !isAdopted { _ = shutdown(owned.raw, Int32(SHUT_RD)) }
    }

    /// Releases the address, once no thread receives from the socket; later replies are dropped.
    ///
    /// Queries in flight retain the listener. An open socket without a reader would take its part of
    /// the datagrams from the other sockets of the address (SO_REUSEPORT). An adopted socket stays
    /// open for the next process.
    package func close() {
        // Fails only without a free descriptor; then the socket closes with the listener.
        if !isAdopted { _ = datagrams_replace_with_null(owned.raw) }
    }

    /// Sets the options that bound and adopted sockets need.
    private static func prepare(
        _ socket: borrowing OwnedDescriptor,
        for address: SocketAddress
    ) throws(SocketError) {
        let isIPv6: Int32 = address.isIPv6 ? 1 : 0
        try check(datagrams_never_fragment(socket.raw, isIPv6), "IP_MTU_DISCOVER")
        if address.isUnspecified {
            try check(datagrams_report_destination(socket.raw, isIPv6), "IP_PKTINFO")
        }
        _ = datagrams_raise_buffers(socket.raw, bufferOctets)
    }

    private static func check(_ result: Int32, _ call: String) throws(SocketError) {
        if result < 0 { throw .system(call: call, code: -result) }
    }
}
