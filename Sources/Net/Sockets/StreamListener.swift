// SPDX-License-Identifier: Apache-2.0
private import CLinux
import Glibc

// SAFETY: the system calls use paths as C strings; lstat writes one `stat`.
@ServiceLoop
package final class StreamListener {
    static let backlog: Int32 = 1024

    static let pause: Duration = .milliseconds(100)

    /// Number of connections after which the task yields, so that a flood of connections cannot
    /// block the loop.
    static let row = 16

    /// Sizes of the kernel's buffers in octets; Linux doubles both values.
    ///
    /// By default, the buffers grow to several MiB (tcp(7)).
    package static let buffers: (send: Int32, receive: Int32) = (32 << 10, 16 << 10)

    private var inRow = 0

    package var onPause: (@ServiceLoop (SocketError) -> Void)?

    private let endpoint: Endpoint

    private let file: (path: String, device: dev_t, inode: ino_t)?

    /// Nil for a Unix socket or an adopted socket.
    package let address: SocketAddress?

    /// Listens at `address`; `isAbsent` allows an address that no interface has.
    package init(binding address: SocketAddress, isAbsent: Bool = false) throws(SocketError) {
        let descriptor = try OwnedDescriptor.socket(
            address.isIPv6 ? AF_INET6 : AF_INET,
            SOCK_STREAM
        )
        try descriptor.set(SO_REUSEADDR, at: SOL_SOCKET, to: 1)
        if address.isIPv6 { try descriptor.set(IPV6_V6ONLY, at: Int32(IPPROTO_IPV6), to: 1) }
        try descriptor.set(SO_SNDBUF, at: SOL_SOCKET, to: Self.buffers.send)
        try descriptor.set(SO_RCVBUF, at: SOL_SOCKET, to: Self.buffers.receive)
        if isAbsent { try descriptor.allowAbsentAddress(isIPv6: address.isIPv6) }
        try descriptor.bind(to: address)
        guard listen(descriptor.raw, Self.backlog) == 0 else { throw .last("listen") }
        var bound = address
        if address.port == 0, let port = descriptor.localAddress?.port { bound.port = port }
        self.address = bound
        endpoint = try Endpoint(descriptor, writes: false)
        file = nil
    }

    /// Listens at a path; clients need write permission in `mode`.
    ///
    /// Replaces the socket file of an ended process, but no other file. Sets mode and group before
    /// clients can connect. Follows no symbolic link, because the owner of the directory could
    /// create a link to another file.
    package init(unixPath path: String, mode: UInt32, group: UInt32? = nil) throws(SocketError) {
        let address = try UnixAddress(path)
        let descriptor = try OwnedDescriptor.socket(AF_UNIX, SOCK_STREAM)
        var error = address.bind(descriptor.raw)
        if error == EADDRINUSE {
            try Self.removeStale(address)
            error = address.bind(descriptor.raw)
            if error == EADDRINUSE { throw .pathInUse(path) }
        }
        guard error == 0 else { throw .system(call: "bind", code: error) }
        do throws(SocketError) {
            try Self.setAccess(of: path, mode: mode, group: group)
            guard listen(descriptor.raw, Self.backlog) == 0 else { throw .last("listen") }
            endpoint = try Endpoint(descriptor, writes: false)
            guard let status = Self.status(of: path) else { throw .last("lstat") }
            file = (path: path, device: status.st_dev, inode: status.st_ino)
            self.address = nil
        } catch {
            unsafe unlink(path)
            throw error
        }
    }

    package init(adopting raw: Int32) throws(SocketError) {
        let descriptor = try OwnedDescriptor(raw, from: "listen")
        try descriptor.set(SO_SNDBUF, at: SOL_SOCKET, to: Self.buffers.send)
        try descriptor.set(SO_RCVBUF, at: SOL_SOCKET, to: Self.buffers.receive)
        let flags = fcntl(raw, F_GETFL)
        guard flags >= 0, fcntl(raw, F_SETFL, flags | O_NONBLOCK) == 0 else { throw .last("fcntl") }
        endpoint = try Endpoint(descriptor, writes: false)
        file = nil
        address = nil
    }

    package convenience init(adopting socket: PassedSocket) throws(SocketError) {
        try self.init(adopting: socket.descriptor)
    }

    isolated deinit { close() }

    /// Has the index of the interface, not its name.
    package var localAddress: SocketAddress? { endpoint.localAddress }

    /// Returns the next connection; waits if no descriptor, memory or epoll watch is free.
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
                // A Unix socket does not have this option.
                try? descriptor.set(TCP_NODELAY, at: Int32(IPPROTO_TCP), to: 1)
                do throws(SocketError) {
                    return try StreamConnection(descriptor)
                } catch {
                    try await pause(after: error)
                    continue
                }
            }
            switch errno {
            case EAGAIN:
                try await endpoint.wait(for: .reading, until: nil)
            case EMFILE, ENFILE, ENOBUFS, ENOMEM:
                try await pause(after: .last("accept"))
            case EBADF, EINVAL, ENOTSOCK, EOPNOTSUPP, EFAULT, EPERM:
                throw .last("accept")
            default:
                // EINTR and errors that concern only the new connection (accept(2)).
                continue
            }
        }
    }

    private func pause(after error: SocketError) async throws(SocketError) {
        onPause?(error)
        do { try await Clocks.system.sleep(Clock.now + Self.pause) } catch { throw .cancelled }
    }

    /// Closes the socket and removes its file; ``accept()`` then throws `SocketError.closed`.
    package func close() {
        endpoint.close()
        if let file, hasFile { unsafe unlink(file.path) }
    }

    /// False if the socket file was removed or replaced, or if the named interface is absent or has
    /// another index.
    package var isInPlace: Bool {
        guard let address, address.needsNamedInterface else { return file == nil || hasFile }
        return localAddress?.scope == address.interfaceIndex
    }

    private var hasFile: Bool {
        guard let file, let now = Self.status(of: file.path) else { return false }
        return now.st_dev == file.device && now.st_ino == file.inode
    }

    // MARK: - Files

    /// Throws EPERM for a symbolic link, or a file that is not this process's socket.
    static func setAccess(
        of path: String,
        mode: UInt32,
        group: UInt32?
    ) throws(SocketError) {
        let result = unsafe linux_set_socket_file(path, mode, group ?? .max)
        guard result == 0 else { throw .last(result == -2 ? "chown" : "chmod") }
    }

    /// Throws the error with which a listener at `path` would fail; creates no file.
    package static func check(unixPath path: String) throws(SocketError) {
        _ = try isStale(UnixAddress(path))
        let directory = path.prefix(through: path.lastIndex(of: "/") ?? path.startIndex) + "."
        guard unsafe faccessat(AT_FDCWD, String(directory), W_OK | X_OK, AT_EACCESS) == 0 else {
            throw .last("bind")
        }
    }

    private static func removeStale(_ address: UnixAddress) throws(SocketError) {
        guard try isStale(address) else { return }
        guard unsafe unlink(address.path) == 0 || errno == ENOENT else { throw .last("unlink") }
    }

    /// Returns true for the socket of an ended process, and false if no file exists at the path.
    ///
    /// Throws if the file is not a socket, if a process listens, or if permission is missing.
    private static func isStale(_ address: UnixAddress) throws(SocketError) -> Bool {
        guard let status = status(of: address.path) else { return false }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .notSocket(address.path) }
        let probe = try OwnedDescriptor.socket(AF_UNIX, SOCK_STREAM)
        switch address.connect(probe.raw) {
        case ECONNREFUSED: return true
        case ENOENT: return false
        case let code where code == EACCES || code == EPERM:
            throw .system(call: "connect", code: code)
        default: throw .pathInUse(address.path)
        }
    }

    private static func status(of path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }
}
