// SPDX-License-Identifier: Apache-2.0
import Glibc

/// File descriptor that is closed when its owner is released.
// SAFETY: each pointer is valid during its call, and the size in the call is the size of the memory
// at the pointer. An address of any family fits into sockaddr_storage.
struct OwnedDescriptor: ~Copyable {
    /// Must not be stored, because the owner closes it.
    let raw: Int32

    init(_ raw: Int32, from call: String) throws(SocketError) {
        guard raw >= 0 else { throw .last(call) }
        self.raw = raw
    }

    init(taking raw: Int32) { self.raw = raw }

    static func socket(
        _ family: Int32,
        _ type: __socket_type
    ) throws(SocketError) -> OwnedDescriptor {
        let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        return try OwnedDescriptor(
            SpareDescriptors.open { Glibc.socket(family, Int32(type.rawValue) | flags, 0) },
            from: "socket"
        )
    }

    func set(_ option: Int32, at level: Int32, to value: Int32) throws(SocketError) {
        var value = value
        let status = unsafe setsockopt(
            raw,
            level,
            option,
            &value,
            socklen_t(MemoryLayout<Int32>.size)
        )
        guard status == 0 else { throw .last("setsockopt") }
    }

    func allowAbsentAddress(isIPv6: Bool) throws(SocketError) {
        // IP_FREEBIND in <linux/in.h>, and IPV6_FREEBIND in <linux/in6.h>.
        let (freeBind, freeBindIPv6): (Int32, Int32) = (15, 78)
        if isIPv6 {
            try set(freeBindIPv6, at: Int32(IPPROTO_IPV6), to: 1)
        } else {
            try set(freeBind, at: Int32(IPPROTO_IP), to: 1)
        }
    }

    func bind(to address: SocketAddress) throws(SocketError) {
        let status = unsafe address.withSockaddr { unsafe Glibc.bind(raw, $0, $1) }
        guard status == 0 else { throw .last("bind") }
    }

    /// Connects through the interface ``SocketAddress/link``, if any; returns `errno`, or 0.
    ///
    /// Linux before 5.7 requires a privilege to choose the interface. Without the privilege, the
    /// routing table decides.
    func connect(to peer: SocketAddress) -> Int32 {
        if peer.link != 0 {
            // SO_BINDTOIFINDEX in <asm-generic/socket.h>.
            let bindToIndex: Int32 = 62
            do throws(SocketError) {
                try set(bindToIndex, at: SOL_SOCKET, to: Int32(clamping: peer.link))
            } catch {
                guard error.isForbidden else { return error.code }
            }
        }
        let status = unsafe peer.withSockaddr { unsafe Glibc.connect(raw, $0, $1) }
        return status == 0 ? 0 : errno
    }

    var localAddress: SocketAddress? {
        SocketAddress(localOf: raw)
    }

    var peerAddress: SocketAddress? {
        SocketAddress(peerOf: raw)
    }

    var isConnected: Bool {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return unsafe withUnsafeMutablePointer(to: &storage) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getpeername(raw, $0, &length) == 0
            }
        }
    }

    /// Pending error of the socket (SO_ERROR), which the call clears.
    var pendingError: Int32 {
        var error: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        let status = unsafe getsockopt(raw, SOL_SOCKET, SO_ERROR, &error, &length)
        return status == 0 ? error : errno
    }

    fileprivate static func read(
        _ storage: inout sockaddr_storage,
        _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> SocketAddress? {
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = unsafe withUnsafeMutablePointer(to: &storage) {
            unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe call($0, &length)
            }
        }
        return status == 0 ? SocketAddress(storage) : nil
    }

    deinit {
        close(raw)
        SpareDescriptors.refill()
    }
}

extension SocketAddress {
    init?(localOf descriptor: Int32) {
        var storage = sockaddr_storage()
        // SAFETY: the storage fits any address.
        let address = unsafe OwnedDescriptor.read(&storage) {
            unsafe getsockname(descriptor, $0, $1)
        }
        guard let address else { return nil }
        self = address
    }

    init?(peerOf descriptor: Int32) {
        var storage = sockaddr_storage()
        // SAFETY: the storage fits any address.
        let address = unsafe OwnedDescriptor.read(&storage) {
            unsafe getpeername(descriptor, $0, $1)
        }
        guard let address else { return nil }
        self = address
    }
}
