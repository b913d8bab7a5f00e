// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// A socket that systemd has bound for us (systemd.socket(5)), and keeps when we end.
package struct PassedSocket: Sendable, Hashable {
    /// What comes over it.
    package enum Transport: Sendable, Hashable {
        case datagrams, streams
    }

    /// The name in its unit.
    package let name: String

    /// Where it is bound.
    package let address: SocketAddress
    package let transport: Transport

    /// Its number, which whoever adopts it owns.
    let descriptor: Int32

    /// Looks at what systemd has passed.
    ///
    /// - Throws: `SocketError.unusable` for what is no bound UDP and no listening TCP socket: what
    ///   nobody serves would swallow queries.
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
                throw .unusable(name: name, why: "does not listen; it wants Accept=no")
            }
            transport = .streams
        default:
            throw .unusable(name: name, why: "speaks neither UDP nor TCP")
        }
        // With it, IPv4 clients would have addresses that no access list knows.
        if address.isIPv6, address.isUnspecified,
            Self.option(IPV6_V6ONLY, at: Int32(IPPROTO_IPV6), of: descriptor) != 1
        {
            throw .unusable(
                name: name,
                why: "takes IPv4, too; it wants BindIPv6Only=ipv6-only, and one for 0.0.0.0"
            )
        }
    }

    /// The value of an `int` option; nil if the socket does not have it.
    private static func option(_ option: Int32, at level: Int32, of descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option's value is one Int32, as `length` says.
        return unsafe getsockopt(descriptor, level, option, &value, &length) == 0 ? value : nil
    }
}

extension ServiceManager {
    /// The sockets that systemd listens with for us; once only, then none are left.
    ///
    /// - Throws: `SocketError.unusable`, or what ``listenDescriptors()`` throws.
    package static func sockets() throws(SocketError) -> [PassedSocket] {
        var sockets: [PassedSocket] = []
        for passed in try listenDescriptors() { sockets.append(try PassedSocket(passed)) }
        return sockets
    }
}
