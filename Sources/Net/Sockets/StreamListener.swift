// SPDX-License-Identifier: Apache-2.0
private import CLinux
import Glibc

/// A listening TCP or Unix socket.
@ServiceLoop
package final class StreamListener {
    /// Connections the kernel keeps for us until they are accepted; it takes net.core.somaxconn at
    /// the most.
    static let backlog: Int32 = 1024

    /// How long accepting pauses when the process or the system is out of descriptors or memory.
    static let pause: Duration = .milliseconds(100)

    /// Connections that are accepted in a row before the loop's other work has its turn, which ends
    /// some of them.
    static let row = 16

    /// Octets of the kernel's buffers of each connection that is accepted over TCP; it doubles both.
    ///
    /// Without a bound Linux lets them grow to several MiB (`tcp_wmem` and `tcp_rmem` of tcp(7)), which
    /// count in the service's control group.
    package static let buffers: (send: Int32, receive: Int32) = (32 << 10, 16 << 10)

    /// How many are in the present row.
    private var inRow = 0

    /// Called with the error each time accepting has to pause; the connection waits in the backlog.
    package var onPause: (@ServiceLoop (SocketError) -> Void)?

    private let endpoint: Endpoint

    /// The file to remove at the end, and which one it was.
    private let file: (path: String, device: dev_t, inode: ino_t)?

    /// Listens at `address`; port 0 lets the kernel choose, see ``localAddress``.
    ///
    /// An IPv6 listener takes IPv6 only (IPV6_V6ONLY), so both families can have the port.
    package init(binding address: SocketAddress) throws(SocketError) {
        let descriptor = try OwnedDescriptor.socket(
            address.isIPv6 ? AF_INET6 : AF_INET,
            SOCK_STREAM
        )
        try descriptor.set(SO_REUSEADDR, at: SOL_SOCKET, to: 1)
        if address.isIPv6 { try descriptor.set(IPV6_V6ONLY, at: Int32(IPPROTO_IPV6), to: 1) }
        try descriptor.set(SO_SNDBUF, at: SOL_SOCKET, to: Self.buffers.send)
        try descriptor.set(SO_RCVBUF, at: SOL_SOCKET, to: Self.buffers.receive)
        try descriptor.bind(to: address)
        guard listen(descriptor.raw, Self.backlog) == 0 else { throw .last("listen") }
        endpoint = try Endpoint(descriptor, writes: false)
        file = nil
    }

    /// Listens at a path of the file system.
    ///
    /// The socket of a process that is gone is replaced; one at which a process listens, and a file of
    /// another kind, are not.
    /// Mode and group are set before anybody can connect.
    ///
    /// - Parameters:
    ///   - mode: permissions of the file; who may write to it may connect.
    ///   - group: the file's group, nil to leave it.
    /// - Throws: `SocketError.pathInUse`, `.notSocket`, `.pathTooLong`, `.system`.
    package init(unixPath path: String, mode: UInt32, group: UInt32? = nil) throws(SocketError) {
        let address = try UnixAddress(path)
        let descriptor = try OwnedDescriptor.socket(AF_UNIX, SOCK_STREAM)
        var error = address.bind(descriptor.raw)
        if error == EADDRINUSE {
            try Self.removeStale(address)
            error = address.bind(descriptor.raw)
        }
        guard error == 0 else { throw .system(call: "bind", code: error) }
        do throws(SocketError) {
            // Not if the file has it already: systemd's filter may keep everybody from asking.
            if let group, Self.status(of: path)?.st_gid != group {
                // SAFETY: the path is a text that ends with NUL.
                guard unsafe chown(path, uid_t.max, group) == 0 else { throw .last("chown") }
            }
            // SAFETY: as above.
            guard unsafe chmod(path, mode) == 0 else { throw .last("chmod") }
            guard listen(descriptor.raw, Self.backlog) == 0 else { throw .last("listen") }
            endpoint = try Endpoint(descriptor, writes: false)
            file = Self.status(of: path).map { (path: path, device: $0.st_dev, inode: $0.st_ino) }
        } catch {
            // SAFETY: as above.
            unsafe unlink(path)
            throw error
        }
    }

    /// Takes over a socket that listens already, as systemd passes it on.
    package init(adopting raw: Int32) throws(SocketError) {
        let descriptor = try OwnedDescriptor(raw, from: "listen")
        try descriptor.set(SO_SNDBUF, at: SOL_SOCKET, to: Self.buffers.send)
        try descriptor.set(SO_RCVBUF, at: SOL_SOCKET, to: Self.buffers.receive)
        let flags = fcntl(raw, F_GETFL)
        guard flags >= 0, fcntl(raw, F_SETFL, flags | O_NONBLOCK) == 0 else { throw .last("fcntl") }
        endpoint = try Endpoint(descriptor, writes: false)
        file = nil
    }

    /// The same for one that was looked at already.
    package convenience init(adopting socket: PassedSocket) throws(SocketError) {
        try self.init(adopting: socket.descriptor)
    }

    isolated deinit { close() }

    /// Where it listens; nil for a Unix socket and once closed.
    package var localAddress: SocketAddress? { endpoint.localAddress }

    /// Waits for the next connection.
    ///
    /// Connections that ended before they were accepted are skipped.  Without descriptors or memory
    /// it pauses, tells ``onPause``, and tries again.
    package func accept() async throws(SocketError) -> StreamConnection {
        if inRow == Self.row {
            inRow = 0
            await Task.yield()
        }
        while true {
            let raw = linux_accept(try endpoint.attempt(.reading))
            if raw >= 0 {
                inRow += 1
                let descriptor = try OwnedDescriptor(raw, from: "accept")
                // Fails on a Unix socket, which has no Nagle's algorithm.
                try? descriptor.set(TCP_NODELAY, at: Int32(IPPROTO_TCP), to: 1)
                return try StreamConnection(descriptor)
            }
            switch errno {
            case EAGAIN:
                try await endpoint.wait(for: .reading, until: nil)
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                onPause?(.last("accept"))
                do { try await ServiceLoop.sleep(until: Clock.now + Self.pause) } catch {
                    throw .cancelled
                }
            case EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP, EFAULT, EPERM:
                throw .last("accept")
            default:
                // EINTR, ECONNABORTED, EPROTO, and the network errors of a connection that has
                // failed already (accept(2), "Error handling").
                continue
            }
        }
    }

    /// Stops listening; who waits in ``accept()`` gets `SocketError.closed`.
    package func close() {
        endpoint.close()
        guard let file, let now = Self.status(of: file.path),
            now.st_dev == file.device, now.st_ino == file.inode
        else { return }
        // SAFETY: the path is a text that ends with NUL.
        unsafe unlink(file.path)
    }

    // MARK: - Files

    /// Removes a socket file at which nobody listens.
    private static func removeStale(_ address: UnixAddress) throws(SocketError) {
        // Gone since `bind` failed: the next `bind` says what there is now.
        guard let status = status(of: address.path) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notSocket(address.path) }
        let probe = try OwnedDescriptor.socket(AF_UNIX, SOCK_STREAM)
        guard address.connect(probe.raw) == ECONNREFUSED else { throw .pathInUse(address.path) }
        // SAFETY: the path is a text that ends with NUL.
        guard unsafe unlink(address.path) == 0 || errno == ENOENT else { throw .last("unlink") }
    }

    /// What the file system says of `path`, not following a link; nil if there is nothing.
    private static func status(of path: String) -> stat? {
        var status = stat()
        // SAFETY: the path is a text that ends with NUL; one `stat` is written.
        return unsafe lstat(path, &status) == 0 ? status : nil
    }
}
