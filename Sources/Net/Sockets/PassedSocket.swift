// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Socket that systemd has bound (systemd.socket(5)) and keeps open when this process ends.
package struct PassedSocket: Sendable, Hashable {
    package enum Transport: Sendable, Hashable {
        case datagrams, streams
    }

    package let name: String

    package let address: SocketAddress
    package let transport: Transport

    /// Owned by the listener that adopts the socket.
    let descriptor: Int32

    init(_ passed: ServiceManager.ListenDescriptor) throws(SocketError) {
        name = passed.name
        descriptor = passed.descriptor
        guard let address = SocketAddress(localOf: descriptor), address.port != 0 else {
            throw .unusable(name: name, why: "is not bound to an IP address and a port")
        }
        self.address = address
        switch Self.option(SO_TYPE, at: SOL_SOCKET, of: descriptor) {
        case Int32(SOCK_DGRAM.rawValue):
            transport = .datagrams
        case Int32(SOCK_STREAM.rawValue):
            guard Self.option(SO_ACCEPTCONN, at: SOL_SOCKET, of: descriptor) == 1 else {
                throw .unusable(name: name, why: "does not listen; set `Accept=no` in its unit")
            }
            transport = .streams
        default:
            throw .unusable(name: name, why: "is neither UDP nor TCP")
        }
        // A dual-stack socket reports IPv4 clients as IPv4-mapped addresses, which match no access
        // list.
        if address.isIPv6, address.isUnspecified,
            Self.option(IPV6_V6ONLY, at: Int32(IPPROTO_IPV6), of: descriptor) != 1
        {
            throw .unusable(
                name: name,
                why: "also accepts IPv4; set `BindIPv6Only=ipv6-only` and add a socket for 0.0.0.0"
            )
        }
    }

    private static func option(_ option: Int32, at level: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option's value is one Int32.
        return unsafe getsockopt(descriptor, level, option, &value, &length) == 0 ? value : nil
    }
}

extension ServiceManager {
    /// Returns the sockets from systemd; a second call returns none.
    package static func sockets() throws(SocketError) -> [PassedSocket] {
        var sockets: [PassedSocket] = []
        for passed in try listenDescriptors() { sockets.append(try PassedSocket(passed)) }
        return sockets
    }
}
