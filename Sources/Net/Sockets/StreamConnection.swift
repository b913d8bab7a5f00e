// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

/// A TCP or Unix stream: the client's end or an accepted one.
///
/// One task may read while another writes; the descriptor is closed with the object at the latest.
@ServiceLoop
package final class StreamConnection {
    /// Who is at the other end of a Unix socket, as the kernel saw it connect.
    package struct Credentials: Sendable, Hashable {
        package let pid: Int32
        package let uid: UInt32
        package let gid: UInt32
    }

    private let endpoint: Endpoint

    /// Takes over a connected socket.
    init(_ descriptor: consuming OwnedDescriptor) throws(SocketError) {
        endpoint = try Endpoint(descriptor, writes: true)
    }

    // MARK: - Making

    /// Connects over TCP, with Nagle's algorithm off.
    package static func connect(
        to peer: SocketAddress,
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) -> StreamConnection {
        let descriptor = try OwnedDescriptor.socket(peer.isIPv6 ? AF_INET6 : AF_INET, SOCK_STREAM)
        try descriptor.set(TCP_NODELAY, at: Int32(IPPROTO_TCP), to: 1)
        // SAFETY: the pointer is valid during the call.
        let status = unsafe peer.withSockaddr { unsafe Glibc.connect(descriptor.raw, $0, $1) }
        let error = status == 0 ? 0 : errno
        return try await finish(descriptor, error: error, deadline: deadline)
    }

    /// Connects to a Unix socket.
    ///
    /// - Throws: `SocketError.system` with EAGAIN if the listener's backlog is full.
    package static func connect(
        unixPath path: String,
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) -> StreamConnection {
        let descriptor = try OwnedDescriptor.socket(AF_UNIX, SOCK_STREAM)
        let address = try UnixAddress(path)
        let error = address.connect(descriptor.raw)
        return try await finish(descriptor, error: error, deadline: deadline)
    }

    /// Waits for the end of a connect that answered `error` (an `errno`, or 0).
    private static func finish(
        _ descriptor: consuming OwnedDescriptor,
        error: Int32,
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) -> StreamConnection {
        guard error == 0 || error == EINPROGRESS || error == EINTR else {
            throw .system(call: "connect", code: error)
        }
        let connection = try StreamConnection(descriptor)
        guard error != 0 else { return connection }
        do throws(SocketError) {
            // The watch begins with an edge of its own, which may come before the answer of the
            // peer: so what counts is whether there is a peer.
            while true {
                try await connection.endpoint.wait(for: .writing, until: deadline)
                let pending = connection.endpoint.pendingError
                guard pending == 0 else { throw .system(call: "connect", code: pending) }
                if connection.endpoint.isConnected { return connection }
            }
        } catch {
            connection.close()
            throw error
        }
    }

    // MARK: - Reading

    /// The address of the other end; nil for a Unix socket and once closed.
    package var peerAddress: SocketAddress? { endpoint.peerAddress }

    /// The address of this end; nil for a Unix socket and once closed.
    package var localAddress: SocketAddress? { endpoint.localAddress }

    /// Who is at the other end of a Unix socket.
    package var peerCredentials: Credentials {
        get throws(SocketError) {
            var (pid, uid, gid): (Int32, UInt32, UInt32) = (0, 0, 0)
            // SAFETY: writes three integers.
            let status = unsafe linux_peer_credentials(try endpoint.raw, &pid, &uid, &gid)
            guard status == 0 else { throw .last("getsockopt") }
            return Credentials(pid: pid, uid: uid, gid: gid)
        }
    }

    /// Reads that found octets without waiting, and how many there may be before others have a turn.
    private var readsInRow = 0
    private static let longestRow = 16

    /// The octets that have come, at least one and at most `limit`; empty when the peer is done.
    ///
    /// One call returns at most 65 535 octets.
    package func read(
        upTo limit: Int,
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) -> [UInt8] {
        precondition(limit > 0, "a read of nothing cannot be told from the end")
        // A peer that never stops sending must not keep the loop to itself.
        if readsInRow == Self.longestRow {
            readsInRow = 0
            await Task.yield()
        }
        while true {
            if let octets = try ReceiveBuffer.receive(
                from: try endpoint.attempt(.reading),
                upTo: limit
            ) {
                readsInRow += 1
                return octets
            }
            readsInRow = 0
            try await endpoint.wait(for: .reading, until: deadline)
        }
    }

    // MARK: - Writing

    /// Writes all of `octets`; on an error some of them may have left.
    package func write(
        _ octets: [UInt8],
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) {
        var sent = 0
        while sent < octets.count {
            let count = try attemptWrite(octets, sent..<octets.count)
            sent += count
            if count == 0 { try await endpoint.wait(for: .writing, until: deadline) }
        }
    }

    /// Tells the peer that nothing more will come, and goes on reading.
    package func shutdownWrite() throws(SocketError) {
        guard shutdown(try endpoint.raw, Int32(SHUT_WR)) == 0 else { throw .last("shutdown") }
    }

    // MARK: - Without waiting

    /// Has `observer` told whenever something has come of the connection, for one who never waits.
    ///
    /// Edges only: the observer is not told again of what it leaves.  What came before is not told,
    /// so it has to look once by itself.
    package func observe(_ observer: @escaping @ServiceLoop (Readiness) -> Void) {
        endpoint.observer = observer
    }

    /// Receives what has come into `buffer`, from `start` on and at most `limit` octets.
    ///
    /// Fewer than `limit` are all there were: what comes later is an edge of its own.  Only the end
    /// of what is sent, of which there may have been an edge already, takes another call to see.
    ///
    /// - Returns: how many came, 0 at the end; nil if there is nothing yet.
    package func attemptRead(
        into buffer: inout [UInt8],
        from start: Int,
        upTo limit: Int
    ) throws(SocketError) -> Int? {
        precondition(limit > 0 && start >= 0 && limit <= buffer.count - start, "read within bounds")
        let raw = try endpoint.attempt(.reading)
        while true {
            let count = Self.receive(raw, &buffer, start, limit)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return nil
            default: throw .last("recv")
            }
        }
    }

    /// Sends those of `octets` in `range` that the kernel takes at once, and returns how many.
    package func attemptWrite(
        _ octets: [UInt8],
        _ range: Range<Int>
    ) throws(SocketError) -> Int {
        precondition(
            range.lowerBound >= 0 && range.upperBound <= octets.count,
            "write within bounds"
        )
        let raw = try endpoint.attempt(.writing)
        while true {
            let count = Self.send(raw, octets, range)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return 0
            default: throw .last("send")
            }
        }
    }

    /// Calls recv(2) for at most `limit` octets.
    ///
    /// Not isolated, so that the closure is not either: in one that is, the runtime asks each time
    /// whether this is the loop's thread (Swift 6.3).
    private nonisolated static func receive(
        _ raw: Int32,
        _ buffer: inout [UInt8],
        _ start: Int,
        _ limit: Int
    ) -> Int {
        // SAFETY: the caller bounds what is written.
        unsafe buffer.withUnsafeMutableBytes {
            unsafe recv(raw, $0.baseAddress.map { unsafe $0 + start }, limit, 0)
        }
    }

    /// Calls send(2) for the octets in `range`; not isolated, as above.
    private nonisolated static func send(
        _ raw: Int32,
        _ octets: [UInt8],
        _ range: Range<Int>
    ) -> Int {
        // SAFETY: the caller bounds what is read.
        unsafe octets.withUnsafeBytes {
            unsafe Glibc.send(
                raw,
                $0.baseAddress.map { unsafe $0 + range.lowerBound },
                range.count,
                Int32(MSG_NOSIGNAL)
            )
        }
    }

    /// Has `act` done, once and perhaps at once, when the other end has gone for good.
    ///
    /// Nothing that is sent can reach it then; a peer that only sends no more has not gone.
    package func whenGone(_ act: @escaping @ServiceLoop () -> Void) { endpoint.whenGone(act) }

    /// Closes the connection; who waits on it gets `SocketError.closed`.
    package func close() { endpoint.close() }
}
