// SPDX-License-Identifier: Apache-2.0
private import CCurl
private import CLinux
private import Glibc

/// Watches of libcurl's sockets, by descriptor.
///
/// libcurl 7.88 closes some sockets without a callback, so the loop watches a duplicate of each
/// socket.
@ServiceLoop
final class WatchedSockets {
    @ServiceLoop
    final class Socket {
        fileprivate private(set) var events: DescriptorWatch.Events

        private(set) var lastReceived: Instant?

        /// Does not count control frames such as PING: a server can send them although it no longer
        /// replies.
        fileprivate(set) var lastReply: Instant?

        /// True if libcurl has no transfer on the connection; an event then ends the watch.
        fileprivate var isIdle = false

        fileprivate var isHTTP1 = false

        private let duplicate: OwnedDescriptor
        private var watch: DescriptorWatch?

        private var writableEvents = 0

        private lazy var pause = Alarm(.system) { [weak self] in
            guard let self else { return }
            watch?.change(to: events)
        }

        fileprivate init(
            _ descriptor: Int32,
            _ events: DescriptorWatch.Events,
            handler: @escaping @ServiceLoop (DescriptorWatch.Events) -> Void
        ) throws(SocketError) {
            self.events = events
            duplicate = try OwnedDescriptor(
                SpareDescriptors.open { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) },
                from: "fcntl"
            )
            watch = nil
            watch = try DescriptorWatch(duplicate.raw, events) { [weak self] in
                self?.note($0)
                handler($0)
            }
        }

        fileprivate func change(to events: DescriptorWatch.Events) {
            self.events = events
            writableEvents = 0
            watch?.change(to: events)
        }

        fileprivate func shutDown() { WatchedSockets.shutDown(duplicate.raw) }

        fileprivate func suspend(_ isSuspended: Bool) { watch?.suspend(isSuspended) }

        private func note(_ ready: DescriptorWatch.Events) {
            if ready.contains(.readable) { lastReceived = Clock.now }
            writableEvents = ready == .writable ? writableEvents + 1 : 0
            guard writableEvents > WatchedSockets.maximumWritableEvents else { return }
            watch?.change(to: events.subtracting(.writable))
            pause.set(Clock.now + WatchedSockets.writePause)
        }

        isolated deinit { watch?.cancel() }
    }

    private(set) var all: [Int32: Socket] = [:]

    let wanted = WantedEvents()

    private var suspects: [Int32: UInt16] = [:]

    private var silent: [Int32: (port: UInt16, server: SocketAddress)] = [:]

    /// Connections in use that delivered an unusable reply; later replies do not remove the mark.
    private var distrusted: [Int32: (port: UInt16, server: SocketAddress)] = [:]

    var isSuspended = false {
        didSet {
            guard isSuspended != oldValue else { return }
            for socket in all.values { socket.suspend(isSuspended) }
        }
    }

    /// Sockets with octets that were read ahead: libcurl must be called although the kernel has none.
    var unread: Set<Int32> = []

    /// `errno` of the last failure to open a socket, or 0.
    var failure: Int32 = 0

    /// Limits the octets that a server sends per round trip.
    ///
    /// By default, this buffer grows to 6 MiB.
    private static let receiveBuffer: Int32 = 128 << 10

    /// Maximum number of successive writable events before a pause (``writePause``).
    ///
    /// If flow control stops a request (RFC 9113 §6.9), libcurl waits for a writable socket, and
    /// the socket is writable all the time. Without a pause, libcurl would be called all the time.
    static let maximumWritableEvents = 8

    static let writePause: Duration = .milliseconds(10)

    var handler: @ServiceLoop (Int32, DescriptorWatch.Events) -> Void = { _, _ in }

    func noteReply(on descriptor: Int32) { all[descriptor]?.lastReply = Clock.now }

    func applyChanges() throws(SocketError) {
        for (descriptor, events) in wanted.takeChanges() {
            if !events.isEmpty {
                do throws(SocketError) {
                    try watch(descriptor, events)
                } catch .system(_, EBADF) {
                    // libcurl has closed the socket without a callback.
                    continue
                }
            } else if let socket = all[descriptor], socket.events == .readable {
                socket.isIdle = true
                if let mark = distrusted[descriptor],
                    SocketAddress(localOf: descriptor)?.port == mark.port
                {
                    socket.shutDown()
                }
            } else {
                // If the socket was never connected, libcurl 7.88 may already have closed it.
                forget(descriptor)
            }
        }
    }

    func watch(
        _ descriptor: Int32,
        _ events: DescriptorWatch.Events
    ) throws(SocketError) {
        if let socket = all[descriptor] {
            socket.isIdle = false
            if socket.events != events { socket.change(to: events) }
            return
        }
        all[descriptor] = try Socket(descriptor, events) { [weak self] in
            self?.report(descriptor, $0)
        }
        if isSuspended { all[descriptor]?.suspend(true) }
    }

    private func report(_ descriptor: Int32, _ events: DescriptorWatch.Events) {
        guard let socket = all[descriptor], socket.isIdle else {
            return handler(descriptor, events)
        }
        // On an idle HTTP/1.1 connection, libcurl would take arriving octets for the reply to the
        // next request (RFC 9112 §9.2). HTTP/2 has frames that belong to no request, such as PING.
        if socket.isHTTP1 { socket.shutDown() }
        forget(descriptor)
    }

    /// True if the peer has acknowledged no segment since `start`, although segments were sent.
    func isDead(_ descriptor: Int32, since start: Instant) -> Bool {
        let milliseconds = start.duration(to: Clock.now) / .milliseconds(1)
        return linux_is_unacknowledged(descriptor, UInt32(max(milliseconds, 0))) != 0
    }

    /// Marks a connection on which the peer has acknowledged a request, but has not replied.
    ///
    /// Has no effect over HTTP/1.1, because libcurl closes the connection of an ended request.
    func markSilent(_ descriptor: Int32, _ port: UInt16, of server: SocketAddress) {
        silent[descriptor] = (port, server)
    }

    func isSuspect(_ server: SocketAddress) -> Bool {
        [silent, distrusted].joined().contains { descriptor, mark in
            mark.server == server && SocketAddress(localOf: descriptor)?.port == mark.port
        }
    }

    /// Shuts down a connection; if other requests use it, shuts it down when it becomes idle.
    func distrust(_ port: UInt16, of server: SocketAddress, at peer: SocketAddress, isUsed: Bool) {
        guard let descriptor = ports(of: peer).first(where: { $0.value == port })?.key else {
            return
        }
        if isUsed { distrusted[descriptor] = (port, server) } else { all[descriptor]?.shutDown() }
    }

    /// Marks a connection like a silent connection; its next reply removes the mark.
    func doubt(_ port: UInt16, of server: SocketAddress, at peer: SocketAddress) {
        let descriptor = ports(of: peer).first { $0.value == port }?.key
        if let descriptor { silent[descriptor] = (port, server) }
    }

    func shutDownIdle(to peer: SocketAddress) {
        for descriptor in ports(of: peer).keys {
            if let socket = all[descriptor], socket.isIdle { socket.shutDown() }
        }
    }

    /// Marks a socket as possibly dead, because a request on it got no reply.
    ///
    /// The next reply on a socket without this mark shuts down all sockets with this mark.
    func suspect(_ descriptor: Int32, port: UInt16) { suspects[descriptor] = port }

    /// Includes idle sockets, because libcurl would prefer their old connections to new ones.
    func suspectAll(to server: SocketAddress) {
        for (descriptor, port) in ports(of: server) { suspect(descriptor, port: port) }
    }

    private func ports(of server: SocketAddress) -> [Int32: UInt16] {
        var ports: [Int32: UInt16] = [:]
        for descriptor in all.keys {
            guard let peer = SocketAddress(peerOf: descriptor), peer.octets == server.octets,
                peer.port == server.port, let local = SocketAddress(localOf: descriptor)
            else { continue }
            ports[descriptor] = local.port
        }
        return ports
    }

    /// If a socket in `suspects` got the reply, only removes its mark; otherwise, shuts down all
    /// sockets in `suspects`.
    func replied(
        _ descriptor: Int32,
        _ isHTTP1: Bool,
        on port: @autoclosure () -> UInt16
    ) {
        if isHTTP1 { all[descriptor]?.isHTTP1 = true }
        guard !suspects.isEmpty || !silent.isEmpty else { return }
        let port = port()
        silent = silent.filter { $0.value.port != port }
        if let suspect = suspects.first(where: { $0.value == port }) {
            suspects[suspect.key] = nil
            return
        }
        for (descriptor, suspect) in suspects
        where SocketAddress(localOf: descriptor)?.port == suspect {
            shutdown(descriptor, Int32(SHUT_RDWR))
        }
        suspects = [:]
    }

    /// Ends a connection, and discards its unread octets: with unread octets, such as close_notify
    /// (RFC 8446 §6.1), libcurl would use the connection for the next request.
    private static func shutDown(_ descriptor: Int32) {
        shutdown(descriptor, Int32(SHUT_RDWR))
        var octets = [UInt8](repeating: 0, count: 4096)
        for _ in 0...Int(2 * receiveBuffer) / octets.count {
            // SAFETY: recv writes at most the size of the array.
            guard unsafe recv(descriptor, &octets, octets.count, Int32(MSG_DONTWAIT)) > 0
            else { break }
        }
    }

    /// Adds to `unread` the sockets with octets that the latest libcurl call has not read; returns
    /// true if there are any.
    func noteUnread(hasProgress: Bool) -> Bool {
        for descriptor in all.keys where curl_buffers_are_unread(descriptor, hasProgress) {
            unread.insert(descriptor)
        }
        return !unread.isEmpty
    }

    func takeUnread() -> Set<Int32> {
        defer { unread = [] }
        return unread
    }

    func forget(_ descriptor: Int32) { all[descriptor] = nil }

    func forgetAll() { (all, suspects, silent, distrusted) = ([:], [:], [:], [:]) }

    /// Opens a socket, if necessary with a spare descriptor; returns -1 on failure.
    ///
    /// The socket can get the descriptor of a watched socket that libcurl has closed without a
    /// callback. If the old socket was not idle, the new socket is watched instead.
    func open(family: Int32, type: Int32, protocol: Int32) -> Int32 {
        let descriptor = SpareDescriptors.open {
            socket(family, type | Int32(SOCK_CLOEXEC.rawValue), `protocol`)
        }
        guard descriptor >= 0 else {
            failure = errno
            return -1
        }
        Self.set(SO_RCVBUF, at: SOL_SOCKET, of: descriptor, to: Self.receiveBuffer)
        // Has no effect on a socket for datagrams (HTTP/3).
        let segment = StreamConnection.maximumSegment
        Self.set(TCP_MAXSEG, at: Int32(IPPROTO_TCP), of: descriptor, to: segment)
        if let former = all.removeValue(forKey: descriptor), !former.isIdle {
            do throws(SocketError) {
                try watch(descriptor, former.events)
            } catch {
                _ = Glibc.close(descriptor)
                return -1
            }
        }
        curl_buffers_opened(descriptor)
        return descriptor
    }

    /// Sets an option; a failure leaves the default.
    private static func set(
        _ option: Int32,
        at level: Int32,
        of descriptor: Int32,
        to value: Int32
    ) {
        var value = value
        let size = socklen_t(MemoryLayout.size(ofValue: value))
        // SAFETY: reads one integer.
        _ = unsafe setsockopt(descriptor, level, option, &value, size)
    }

    func close(_ descriptor: Int32) -> Int32 {
        forget(descriptor)
        wanted.forget(descriptor)
        curl_buffers_closed(descriptor)
        (suspects[descriptor], silent[descriptor], distrusted[descriptor]) = (nil, nil, nil)
        unread.remove(descriptor)
        defer { SpareDescriptors.refill() }
        return Glibc.close(descriptor)
    }
}
