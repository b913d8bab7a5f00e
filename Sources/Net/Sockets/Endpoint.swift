// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// What all sockets here have in common: a descriptor, its watch, and who waits for it.
///
/// The descriptor is registered once, edge-triggered, so no `epoll_ctl` is needed however often
/// somebody waits.  Each call tries first and waits only when the kernel says EAGAIN.  Trying
/// forgets the edges before it, whose causes it finds itself; one that comes after it is remembered
/// and ends the wait, even a wait that has not begun yet: none can be missed, wherever the task is
/// suspended in between.  (One-shot re-arming would cost a system call a wait, level triggering
/// would spin on what nobody reads.)
@ServiceLoop
final class Endpoint {
    /// Ways in which somebody waits.
    struct Direction: OptionSet {
        let rawValue: UInt8

        static let reading = Direction(rawValue: 1)
        static let writing = Direction(rawValue: 2)
    }

    /// The descriptor, nil once closed.
    private var descriptor: OwnedDescriptor?

    /// The watch, nil once closed.
    private var watch: DescriptorWatch?

    /// Where there was an edge since the last attempt that nobody waited for.
    private var edges: Direction = []

    /// At most one task a direction.
    private var reader: Waiter?
    private var writer: Waiter?

    /// Told of every edge, in place of tasks that wait.
    var observer: (@ServiceLoop (Readiness) -> Void)?

    /// To be told, once, that the other end has gone for good.
    private var whenGone: (@ServiceLoop () -> Void)?

    /// Whether the kernel has reported that the other end is gone.
    private var isGone = false

    /// Takes over `descriptor`, which must not block.
    ///
    /// - Parameter writes: whether somebody will ever wait to write.  Not for datagrams: there the
    ///   kernel reports an edge for each one that has left.
    init(_ descriptor: consuming OwnedDescriptor, writes: Bool) throws(SocketError) {
        let raw = descriptor.raw
        self.descriptor = consume descriptor
        watch = nil
        watch = try DescriptorWatch(
            raw,
            writes
                ? [.readable, .writable, .endOfInput, .edges]
                : [.readable, .edges]
        ) { [weak self] in self?.report($0) }
    }

    isolated deinit { close() }

    /// The descriptor's number, for a system call at once that may say EAGAIN.
    ///
    /// - Throws: `SocketError.closed`.
    func attempt(_ direction: Direction) throws(SocketError) -> Int32 {
        edges.remove(direction)
        return try raw
    }

    /// The descriptor's number, for a system call.
    ///
    /// - Throws: `SocketError.closed`.
    var raw: Int32 {
        get throws(SocketError) {
            switch descriptor {
            case .some(let open): return open.raw
            case .none: throw .closed
            }
        }
    }

    /// The error that waits on the socket, 0 if none.
    var pendingError: Int32 { descriptor?.pendingError ?? EBADF }

    /// Whether the socket has a peer, of whatever family.
    var isConnected: Bool { descriptor?.isConnected ?? false }

    /// The address of this end.
    var localAddress: SocketAddress? { descriptor?.localAddress }

    /// The address of the other end.
    var peerAddress: SocketAddress? { descriptor?.peerAddress }

    /// Suspends until there was an edge since the last attempt, at most until `deadline`.
    func wait(
        for direction: Direction,
        until deadline: ContinuousClock.Instant?
    ) async throws(SocketError) {
        _ = try raw
        guard edges.remove(direction) == nil else { return }
        let waiter = Waiter()
        if direction == .reading {
            precondition(reader == nil, "two tasks read from one socket at the same time")
            reader = waiter
        } else {
            precondition(writer == nil, "two tasks write to one socket at the same time")
            writer = waiter
        }
        let outcome = await waiter.wait(until: deadline)
        if reader === waiter { reader = nil }
        if writer === waiter { writer = nil }
        switch outcome {
        case .ready: return
        case .timedOut: throw .timedOut
        case .cancelled: throw .cancelled
        case .closed: throw .closed
        }
    }

    /// Closes the descriptor and ends the waits for it with `SocketError.closed`.
    func close() {
        watch?.cancel()
        watch = nil
        descriptor = nil
        reader?.resume(.closed)
        writer?.resume(.closed)
    }

    /// Wakes who waits for what epoll reports.
    private func report(_ events: DescriptorWatch.Events) {
        let failed = !events.isDisjoint(with: [.hangUp, .error])
        if failed { noteGone() }
        if let observer {
            return observer(
                Readiness(
                    isReadable: failed || events.contains(.readable),
                    isWritable: failed || events.contains(.writable),
                    hasEnded: failed || events.contains(.endOfInput)
                )
            )
        }
        if failed || !events.isDisjoint(with: [.readable, .endOfInput]) { note(.reading, reader) }
        if failed || events.contains(.writable) { note(.writing, writer) }
    }

    /// Has `act` done, once, when the other end has gone for good.
    ///
    /// Nothing that is sent can reach it then; a peer that only sends no more has not gone.
    func whenGone(_ act: @escaping @ServiceLoop () -> Void) {
        if isGone { act() } else { whenGone = act }
    }

    /// Tells that the other end has gone.
    private func noteGone() {
        isGone = true
        let tell = whenGone
        whenGone = nil
        tell?()
    }

    /// Wakes who waits, else remembers.
    private func note(_ direction: Direction, _ waiter: Waiter?) {
        if let waiter { waiter.resume(.ready) } else { edges.insert(direction) }
    }
}

/// What an edge says of a connection.
package struct Readiness: Sendable {
    /// Octets have come.
    package let isReadable: Bool

    /// There is room for octets again.
    package let isWritable: Bool

    /// The peer will send no more, or has gone.
    package let hasEnded: Bool
}

/// A buffer into which every socket of the loop receives before the octets that came are copied.
///
/// So a connection on which nothing comes holds no memory, and an array is as large as its content.
@ServiceLoop
enum ReceiveBuffer {
    /// Octets taken by one system call: the largest datagram.
    static let capacity = 65_535

    // SAFETY: allocated once, never freed, used on the loop only and never across a suspension.
    @safe private static let storage = UnsafeMutableRawBufferPointer.allocate(
        byteCount: capacity,
        alignment: 16
    )

    /// Receives at most `limit` octets; nil if there is nothing yet, empty at the end.
    static func receive(
        from descriptor: Int32,
        upTo limit: Int
    ) throws(SocketError) -> [UInt8]? {
        while true {
            // SAFETY: never more than the buffer holds.
            let count = unsafe recv(descriptor, storage.baseAddress, min(limit, capacity), 0)
            if count >= 0 {
                return unsafe [UInt8](UnsafeRawBufferPointer(rebasing: storage[..<count]))
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: return nil
            default: throw .last("recv")
            }
        }
    }
}
