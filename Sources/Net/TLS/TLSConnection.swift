// SPDX-License-Identifier: Apache-2.0

/// TCP connection with TLS; see ``TLSClient``.
@ServiceLoop
package final class TLSConnection: OctetStream {
    private let stream: StreamConnection
    private let engine: TLSEngine

    /// Called once with a resumable session.
    private var keepSession: (@ServiceLoop (TLSClient.Session) -> Void)?

    /// True while a task writes the engine's output.
    private var isFlushing = false

    /// Octets received since the last data, such as tickets and key updates.
    private var octetsWithoutData = 0

    /// Maximum, twice a record (RFC 8446 §5.2): a server must not occupy the loop with key updates.
    private static let controlLimit = 32 << 10

    /// Octets per read from the peer; their records are processed without a pause.
    private static let inputLimit = 16 << 10

    /// Reads since the task yielded, which it does at `longestRow`.
    ///
    /// A peer can send records of one octet each; many reads without a pause would block the loop.
    private var readsInRow = 0
    private static let longestRow = 16

    /// Takes over a connection before the TLS handshake.
    init(
        _ stream: StreamConnection,
        _ engine: TLSEngine,
        keepSession: @escaping @ServiceLoop (TLSClient.Session) -> Void
    ) {
        self.stream = stream
        self.engine = engine
        self.keepSession = keepSession
    }

    // MARK: - Facts

    package var isResumed: Bool { engine.isResumed }

    /// Such as `TLSv1.3`.
    package var version: String { engine.version }

    // MARK: - Talking

    /// Performs the handshake and authenticates the peer.
    func handshake(deadline: Instant?) async throws(TLSError) {
        while true {
            let step = engine.handshake()
            do throws(SocketError) {
                try await flush(deadline: deadline)
                switch step {
                case .done:
                    octetsWithoutData = 0
                    return
                case .wantsInput: if try await fill(deadline: deadline) { continue }
                case .ended, .failed: break
                }
            } catch {
                throw .socket(error)
            }
            if let complaint = engine.complaint { throw .untrusted(complaint) }
            if case .failed(let why) = step { throw .handshake(why) }
            throw .handshake("the server closed the connection")
        }
    }

    package func read(
        upTo limit: Int,
        deadline: Instant?
    ) async throws(SocketError) -> [UInt8] {
        readsInRow += 1
        if readsInRow == Self.longestRow {
            readsInRow = 0
            await Task.yield()
        }
        while true {
            let step = engine.read(upTo: limit)
            // The peer may have requested a key update, which needs a reply.
            try await flush(deadline: deadline)
            switch step {
            case .done(let octets):
                octetsWithoutData = 0
                // Session tickets precede the first data (RFC 8446 §4.6.1).
                if let keep = keepSession, let session = engine.session {
                    keepSession = nil
                    keep(session)
                }
                return octets
            case .wantsInput:
                // End of stream without close_notify is accepted: DNS messages carry their length.
                guard octetsWithoutData <= Self.controlLimit else {
                    throw .broken("the server sends control messages but no data")
                }
                guard try await fill(deadline: deadline) else { return [] }
            case .ended:
                return []
            case .failed(let why):
                throw .broken(why)
            }
        }
    }

    package func write(
        _ octets: [UInt8],
        deadline: Instant?
    ) async throws(SocketError) {
        guard !octets.isEmpty else { return }
        switch engine.write(octets) {
        case .done: try await flush(deadline: deadline)
        case .wantsInput, .ended: throw .broken("the peer has closed the connection")
        case .failed(let why): throw .broken(why)
        }
    }

    package func close() {
        if !isFlushing {
            engine.sendCloseNotify()
            let farewell = engine.give()
            // Failure is ignored: the peer may have closed the connection.
            _ = try? stream.attemptWrite(farewell, farewell.indices)
        }
        stream.close()
    }

    /// Reads from the peer into the engine; returns false at the end of the stream.
    private func fill(deadline: Instant?) async throws(SocketError) -> Bool {
        let octets = try await stream.read(upTo: Self.inputLimit, deadline: deadline)
        guard !octets.isEmpty else { return false }
        octetsWithoutData += octets.count
        engine.take(octets)
        return true
    }

    /// Writes the engine's output to the peer.
    ///
    /// If another task is writing, that task also writes this output, so records stay in order.
    private func flush(deadline: Instant?) async throws(SocketError) {
        guard !isFlushing else { return }
        isFlushing = true
        defer { isFlushing = false }
        while true {
            let octets = engine.give()
            guard !octets.isEmpty else { return }
            try await stream.write(octets, deadline: deadline)
        }
    }
}
