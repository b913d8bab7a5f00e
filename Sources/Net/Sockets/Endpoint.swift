// SPDX-License-Identifier: Apache-2.0
private import Glibc

/// Descriptor of a stream socket with its watch and waiting tasks.
///
/// epoll watches the descriptor edge-triggered. An operation calls ``attempt(_:)``, makes the
/// system call, and waits only after EAGAIN. An edge after ``attempt(_:)`` ends the next wait, so
/// no edge is missed.
@ServiceLoop
final class Endpoint {
    struct Direction: OptionSet {
        let rawValue: UInt8

        static let reading = Direction(rawValue: 1)
        static let writing = Direction(rawValue: 2)
    }

    private var descriptor: OwnedDescriptor?

    private var watch: DescriptorWatch?

    /// Edges since the last call of ``attempt(_:)``, except edges that ended a wait.
    private var edges: Direction = []

    private var reader: Waiter?
    private var writer: Waiter?

    /// Receives every edge; if set, edges do not resume waiting tasks.
    var observer: (@ServiceLoop (Readiness) -> Void)?

    private var whenGone: (@ServiceLoop () -> Void)?

    private(set) var isGone = false

    /// `writes` is false for listeners.
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

    /// Discards earlier edges; the caller then makes a system call that may fail with EAGAIN.
    func attempt(_ direction: Direction) throws(SocketError) -> Int32 {
        edges.remove(direction)
        return try raw
    }

    var raw: Int32 {
        get throws(SocketError) {
            switch descriptor {
            case .some(let open): return open.raw
            case .none: throw .closed
            }
        }
    }

    var pendingError: Int32 { descriptor?.pendingError ?? EBADF }

    var isConnected: Bool { descriptor?.isConnected ?? false }

    var localAddress: SocketAddress? { descriptor?.localAddress }

    var peerAddress: SocketAddress? { descriptor?.peerAddress }

    /// Suspends until an edge or `deadline`, unless an edge followed the latest ``attempt(_:)``.
    func wait(
        for direction: Direction,
        until deadline: Instant?
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

    func close() {
        watch?.cancel()
        watch = nil
        descriptor = nil
        reader?.resume(.closed)
        writer?.resume(.closed)
    }

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

    func whenGone(_ act: @escaping @ServiceLoop () -> Void) {
        if isGone { act() } else { whenGone = act }
    }

    private func noteGone() {
        isGone = true
        let completion = whenGone
        whenGone = nil
        completion?()
    }

    private func note(_ direction: Direction, _ waiter: Waiter?) {
        if let waiter { waiter.resume(.ready) } else { edges.insert(direction) }
    }
}

package struct Readiness: Sendable {
    package let isReadable: Bool

    package let isWritable: Bool

    package let hasEnded: Bool
}

/// Receive buffer that all stream sockets share.
@ServiceLoop
enum ReceiveBuffer {
    static let capacity = 65_535

    // SAFETY: never freed; used on the loop only and never across a suspension.
    @safe private static let storage = UnsafeMutableRawBufferPointer.allocate(
        byteCount: capacity,
        alignment: 16
    )

    /// Returns received octets; nil if no octets are pending, an empty array at the end of input.
    static func receive(
        from descriptor: Int32,
        upTo limit: Int = capacity
    ) throws(SocketError) -> [UInt8]? {
        while true {
            // SAFETY: recv writes at most the size of the buffer.
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
