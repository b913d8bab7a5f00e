// SPDX-License-Identifier: Apache-2.0

@ServiceLoop
package final class TLSConnection: OctetStream {
    private let stream: StreamConnection
    private let engine: TLSEngine

    private var keepSession: (@ServiceLoop (TLSClient.Session) -> Void)?

    /// CPU time of the handshake, and of reading messages without data.
    private(set) var chargedTime: Duration = .zero

    /// Called when the connection closes before data arrived, or after too many control messages.
    var onSilentEnd: (@ServiceLoop (_ chargedTime: Duration) -> Void)?

    private var isFlushing = false

    private var hasData = false

    private var octetsWithoutData = 0

    /// Size of two records (RFC 8446 §5.2).
    ///
    /// Without this limit, endless key updates could block the loop.
    private static let controlLimit = 32 << 10

    /// Number by which each octet of data lowers ``octetsWithoutData``.
    ///
    /// A TLS 1.3 record with one octet of data has 23 octets.
    private static let octetsPerData = 32

    private static let inputLimit = 16 << 10

    /// Number of reads since the task last yielded; many short records could otherwise block the
    /// loop.
    private var readsInRow = 0
    private static let longestRow = 16

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

    package var version: String { engine.version }

    // MARK: - Talking

    func handshake(deadline: Instant?) async throws(TLSError) {
        while true {
            let start = Clock.threadTime
            let step = engine.handshake()
            chargedTime += Clock.threadTime - start
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
            let isFlood = octetsWithoutData > Self.controlLimit / 8
            let start = isFlood ? Clock.threadTime : .zero
            let step = engine.read(upTo: limit)
            let time = isFlood ? Clock.threadTime - start : .zero
            try await flush(deadline: deadline)
            switch step {
            case .done(let octets):
                octetsWithoutData = max(0, octetsWithoutData - Self.octetsPerData * octets.count)
                if octetsWithoutData > 0 { chargedTime += time }
                hasData = true
                // Session tickets precede the first data (RFC 8446 §4.6.1).
                if let keep = keepSession, let session = engine.session {
                    keepSession = nil
                    keep(session)
                }
                return octets
            case .wantsInput:
                chargedTime += time
                guard octetsWithoutData <= Self.controlLimit else {
                    hasData = false
                    throw .broken("the server sends control messages but no data")
                }
                // Accepts an end without close_notify, because each DNS message has a length field.
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
            _ = try? stream.attemptWrite(farewell, farewell.indices)
        }
        stream.close()
        if !hasData { onSilentEnd?(chargedTime) }
        onSilentEnd = nil
    }

    private func fill(deadline: Instant?) async throws(SocketError) -> Bool {
        let octets = try await stream.read(upTo: Self.inputLimit, deadline: deadline)
        guard !octets.isEmpty else { return false }
        octetsWithoutData += octets.count
        engine.take(octets)
        return true
    }

    /// Writes the output of the TLS engine; returns immediately if another task writes, because
    /// that task also writes this output.
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
