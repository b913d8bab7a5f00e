// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc
package import Synchronization

/// Bound UDP socket that receives queries; the worker blocks in `recvmmsg`.
package final class DatagramListener: Sendable {
    private let owned: OwnedDescriptor

    package let address: SocketAddress

    package let reportsDestination: Bool

    package let batches = Atomic<UInt64>(0)

    /// Number of batches that did not fit completely into the send buffer.
    package let fullBuffers = Atomic<UInt64>(0)

    package let isAdopted: Bool

    /// Size of the receive buffer, for 10,000 queries; a buffer of the default size has space for
    /// 276 queries.
    private static let bufferOctets: Int32 = 4 << 20

    var descriptor: Int32 { owned.raw }

    /// Binds a socket; `isAbsent` allows an address that no interface has.
    package init(
        binding address: SocketAddress,
        shared: Bool,
        isAbsent: Bool = false
    ) throws(SocketError) {
        let family = address.isIPv6 ? AF_INET6 : AF_INET
        let type = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        owned = try OwnedDescriptor(Glibc.socket(family, type, 0), from: "socket")
        reportsDestination = address.isUnspecified
        isAdopted = false
        if shared { try owned.set(SO_REUSEPORT, at: SOL_SOCKET, to: 1) }
        if address.isIPv6 { try owned.set(IPV6_V6ONLY, at: Int32(IPPROTO_IPV6), to: 1) }
        try Self.prepare(owned, for: address)
        if isAbsent { try owned.allowAbsentAddress(isIPv6: address.isIPv6) }
        try owned.bind(to: address)
        self.address = owned.localAddress ?? address
    }

    /// Adopts a socket from systemd; several workers may wait on the socket.
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

    package var hasUnreadDatagrams: Bool { datagrams_are_unread(owned.raw) == 1 }

    /// Stops receiving, and wakes the thread in `receive`; has no effect on an adopted socket.
    ///
    /// shutdown(2) fails with ENOTCONN, but wakes the readers on Linux.
    package func stopReceiving() {
        if !isAdopted { _ = shutdown(owned.raw, Int32(SHUT_RD)) }
    }

    /// Releases the address, so that later replies are dropped; an adopted socket stays open.
    ///
    /// Call this after all threads have stopped receiving. Without this call, queries in flight
    /// keep the socket open, and the kernel still distributes datagrams to it (SO_REUSEPORT).
    package func close() {
        // Fails only if no descriptor is free. Then the socket closes when `owned` is released.
        if !isAdopted { _ = datagrams_replace_with_null(owned.raw) }
    }

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

extension SocketAddress {
    package var isLocal: Bool {
        var address = self
        address.port = 0
        do throws(SocketError) {
            _ = try DatagramListener(binding: address, shared: false)
            return true
        } catch {
            // If all ports of an address are in use, the machine has the address.
            return error.isAddressInUse
        }
    }
}
