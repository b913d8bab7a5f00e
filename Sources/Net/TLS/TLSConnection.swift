// SPDX-License-Identifier: Apache-2.0

/// A TCP connection over which TLS is spoken; see ``TLSClient``.
@ServiceLoop
package final class TLSConnection: OctetStream {
    private let stream: StreamConnection
    private let engine: TLSEngine

    /// Told of the session once, when a later connection can use it.
    private var keepSession: (@ServiceLoop (TLSClient.Session) -> Void)?

    /// Whether a task is writing what the engine gives.
    private var isFlushing = false

    /// Takes over a connection on which nothing was said yet.
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

    /// Whether the handshake came back to an earlier session.
    package var isResumed: Bool { engine.isResumed }

    /// The version of TLS that is spoken, as `TLSv1.3`.
    package var version: String { engine.version }

    // MARK: - Talking

    /// Does the handshake, after which the peer is who it was expected to be.
    func shakeHands(deadline: ContinuousClock.Instant?) async throws(TLSError) {
        while true {
            let step = engine.shakeHands()
            do throws(SocketError) {
                try await flush(deadline: deadline)
                switch step {
                case .done: return
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
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) -> [UInt8] {
        while true {
            let step = engine.read(upTo: limit)
            // The peer may have asked for new keys.
            try await flush(deadline: deadline)
            switch step {
            case .done(let octets):
                // Tickets come before the first data (RFC 8446 §4.6.1).
                if let keep = keepSession, let session = engine.session {
                    keepSession = nil
                    keep(session)
                }
                return octets
            case .wantsInput:
                // An end without a goodbye is one: what is sent here says how long it is.
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
        deadline: ContinuousClock.Instant?
    ) async throws(SocketError) {
        guard !octets.isEmpty else { return }
        switch engine.write(octets) {
        case .done: try await flush(deadline: deadline)
        case .wantsInput, .ended: throw .broken("the peer does not listen any more")
        case .failed(let why): throw .broken(why)
        }
    }

    package func close() {
        if !isFlushing {
            engine.sayGoodbye()
            let farewell = engine.give()
            // To a peer that is gone nothing is to be said.
            _ = try? stream.attemptWrite(farewell, farewell.indices)
        }
        stream.close()
    }

    /// Gives the engine what the peer sent next; false at the end.
    private func fill(deadline: ContinuousClock.Instant?) async throws(SocketError) -> Bool {
        let octets = try await stream.read(upTo: 65_535, deadline: deadline)
        guard !octets.isEmpty else { return false }
        engine.take(octets)
        return true
    }

    /// Writes what the engine has for the peer.
    ///
    /// A second task leaves it to the first, which goes on until nothing is left: so records keep
    /// their order.
    private func flush(deadline: ContinuousClock.Instant?) async throws(SocketError) {
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
