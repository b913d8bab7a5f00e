// SPDX-License-Identifier: Apache-2.0
private import CLinux
private import Glibc

/// TCP or Unix stream connection; one task may read while another task writes.
// SAFETY: pointers are valid during the calls, and the callers bound the octets.
@ServiceLoop
package final class StreamConnection {
    /// Process, user and group of a Unix socket's peer when it connected (SO_PEERCRED).
    package struct Credentials: Sendable, Hashable {
        package let pid: Int32
        package let uid: UInt32
        package let gid: UInt32
    }

    /// Maximum segment size (MSS), in octets of data.
    ///
    /// An IPv6 packet with such a segment has 1,280 octets. Some paths drop larger packets without
    /// an ICMP message; one large reply could then block a connection for all queries.
    nonisolated static let maximumSegment: Int32 = 1_220

    private let endpoint: Endpoint

    init(_ descriptor: consuming OwnedDescriptor) throws(SocketError) {
        endpoint = try Endpoint(descriptor, writes: true)
    }

    // MARK: - Making

    package static func connect(
        to peer: SocketAddress,
        deadline: Instant?
    ) async throws(SocketError) -> StreamConnection {
        let descriptor = try OwnedDescriptor.socket(peer.isIPv6 ? AF_INET6 : AF_INET, SOCK_STREAM)
        try descriptor.set(TCP_NODELAY, at: Int32(IPPROTO_TCP), to: 1)
        try descriptor.set(TCP_MAXSEG, at: Int32(IPPROTO_TCP), to: Self.maximumSegment)
        let error = descriptor.connect(to: peer)
        if SocketError.isNoPort(error, to: peer) { throw .noPort }
        return try await finish(descriptor, error: error, deadline: deadline)
    }

    /// Throws EAGAIN if the backlog is full.
    package static func connect(
        unixPath path: String,
        deadline: Instant?
    ) async throws(SocketError) -> StreamConnection {
        let descriptor = try OwnedDescriptor.socket(AF_UNIX, SOCK_STREAM)
        let address = try UnixAddress(path)
        let error = address.connect(descriptor.raw)
        return try await finish(descriptor, error: error, deadline: deadline)
    }

    private static func finish(
        _ descriptor: consuming OwnedDescriptor,
        error: Int32,
        deadline: Instant?
    ) async throws(SocketError) -> StreamConnection {
        guard error == 0 || error == EINPROGRESS || error == EINTR else {
            throw .system(call: "connect", code: error)
        }
        let connection = try StreamConnection(descriptor)
        guard error != 0 else { return connection }
        do throws(SocketError) {
            // The new watch can cause the first edge before the peer has answered.
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

    package var peerAddress: SocketAddress? { endpoint.peerAddress }

    package var localAddress: SocketAddress? { endpoint.localAddress }

    package var peerCredentials: Credentials {
        get throws(SocketError) {
            var (pid, uid, gid): (Int32, UInt32, UInt32) = (0, 0, 0)
            let status = unsafe linux_peer_credentials(try endpoint.raw, &pid, &uid, &gid)
            guard status == 0 else { throw .last("getsockopt") }
            return Credentials(pid: pid, uid: uid, gid: gid)
        }
    }

    private var readsInRow = 0
    private static let longestRow = 16

    /// Reads at most 65,535 octets.
    ///
    /// While data is pending, only one read in 16 checks the deadline.
    package func read(
        upTo limit: Int,
        deadline: Instant?
    ) async throws(SocketError) -> [UInt8] {
        precondition(limit > 0, "a read needs a limit above 0")
        // A peer that sends without pause must not block the loop.
        if readsInRow == Self.longestRow {
            readsInRow = 0
            await Task.yield()
            if let deadline, Clock.now >= deadline { throw .timedOut }
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

    package func write(
        _ octets: [UInt8],
        deadline: Instant?
    ) async throws(SocketError) {
        var sent = 0
        while sent < octets.count {
            let count = try attemptWrite(octets, sent..<octets.count)
            sent += count
            if count == 0 { try await endpoint.wait(for: .writing, until: deadline) }
        }
    }

    package func shutdownWrite() throws(SocketError) {
        guard shutdown(try endpoint.raw, Int32(SHUT_WR)) == 0 else { throw .last("shutdown") }
    }

    // MARK: - Without waiting

    /// Sets an observer of later edges; the caller must then try to read once.
    package func observe(_ observer: @escaping @ServiceLoop (Readiness) -> Void) {
        endpoint.observer = observer
    }

    /// Receives up to `limit` octets; returns 0 at the end of input, nil without pending data.
    ///
    /// After a result below `limit`, new data causes another edge. The end of input may cause none.
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

    /// Nonisolated, because an isolated closure checks the thread at each call (Swift 6.3).
    private nonisolated static func receive(
        _ raw: Int32,
        _ buffer: inout [UInt8],
        _ start: Int,
        _ limit: Int
    ) -> Int {
        unsafe buffer.withUnsafeMutableBytes {
            unsafe recv(raw, $0.baseAddress.map { unsafe $0 + start }, limit, 0)
        }
    }

    private nonisolated static func send(
        _ raw: Int32,
        _ octets: [UInt8],
        _ range: Range<Int>
    ) -> Int {
        unsafe octets.withUnsafeBytes {
            unsafe Glibc.send(
                raw,
                $0.baseAddress.map { unsafe $0 + range.lowerBound },
                range.count,
                Int32(MSG_NOSIGNAL)
            )
        }
    }

    /// True if the peer has closed both directions.
    package var isGone: Bool { endpoint.isGone }

    package func whenGone(_ act: @escaping @ServiceLoop () -> Void) { endpoint.whenGone(act) }

    package func close() { endpoint.close() }
}
