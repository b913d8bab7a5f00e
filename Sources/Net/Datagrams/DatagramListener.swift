// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// A bound UDP socket on which queries arrive, one a worker.
///
/// Blocking, as a worker has nothing else to wait for: waiting in `recvmmsg` itself costs 4 to 6 %
/// less CPU a query than asking epoll first.
package final class DatagramListener: Sendable {
    private let owned: OwnedDescriptor

    /// The address it is bound to, with the port that the system chose if none was asked for.
    package let address: SocketAddress

    /// Whether datagrams come with the address that they were sent to.
    package let reportsDestination: Bool

    /// Whether somebody else, such as systemd, keeps the socket when this process has ended: it must
    /// stay as it is.
    package let isAdopted: Bool

    /// Octets of receive buffer, so that a burst of some 10,000 queries waits rather than drops; the
    /// system's usual 208 KiB overflows at 277.
    private static let bufferOctets: Int32 = 4 << 20

    /// The number, for system calls.
    var descriptor: Int32 { owned.raw }

    /// Binds a socket.
    ///
    /// - Parameter shared: whether several sockets of this process share the address; the kernel
    ///   then spreads askers over them.
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

    /// Takes over a socket that is bound already, as systemd passes it on.
    ///
    /// Several workers may wait on it: what comes is given to one of them.
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

    /// Wakes the thread that waits in `DatagramBatch.receive`, for good: it receives nothing more.
    ///
    /// Linux wakes readers even of an unconnected socket, though it then says ENOTCONN.  A socket
    /// that was adopted would be of no use to whoever has it next, so that is left alone: what
    /// wakes its readers is `WorkerThread.joinInterrupting`.
    package func stopReceiving() {
        if !isAdopted { _ = shutdown(owned.raw, Int32(SHUT_RD)) }
    }

    /// Sets what a socket of any origin needs.
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
