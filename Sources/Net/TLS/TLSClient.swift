// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// Opens connections over TLS 1.2 or later to servers that must prove who they are.
///
/// It holds the session of the latest connection to each server, so that the next one begins with a
/// shorter handshake.  The certificates that are trusted belong to ``TrustStores``.
// SAFETY: the context is made in `init` and freed once, in `deinit`; used on the loop only.
@safe
@ServiceLoop
package final class TLSClient {
    /// A server as sessions are kept for it.
    struct Server: Hashable {
        let address: SocketAddress
        let name: String
    }

    /// Sessions kept, at most: one a server, and servers are those of the settings.
    private static let sessionLimit = 256

    private let context: OpaquePointer
    private let source: TrustSource

    /// The certificates that the context trusts; nil before the first connection.
    private var trusted: TrustStore?
    private var sessions: [Server: Session] = [:]

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - certificateFile: PEM file of certificates to trust; without one those of the system, as
    ///     OpenSSL finds them (`SSL_CERT_FILE`, `SSL_CERT_DIR`).
    ///   - protocols: what is offered by ALPN (RFC 7301), as `dot`; nothing if empty.
    /// - Throws: `TLSError.setup`.
    package init(certificateFile: String?, protocols: [String] = []) throws(TLSError) {
        source = TrustSource(certificateFile)
        // A file of the settings that cannot be read is an error now, not with the first query.
        if certificateFile != nil { _ = try TrustStores.shared.store(for: source) }
        OpenSSLErrors.clear()
        guard let made = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw .setup(OpenSSLErrors.take() ?? "out of memory")
        }
        unsafe context = made
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        // Compression and renegotiation are attackers' tools, and nobody else's by now.
        _ = unsafe SSL_CTX_set_options(context, Self.noRenegotiation | Self.noCompression)
        try Self.check(
            unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
                == 1
        )
        let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        guard !list.isEmpty else { return }
        // SAFETY: exactly the array's octets are copied.  Zero is success, for once.
        try Self.check(unsafe SSL_CTX_set_alpn_protos(context, list, UInt32(list.count)) == 0)
    }

    /// Throws OpenSSL's complaint unless a step of the set-up is done.
    private static func check(_ isDone: Bool) throws(TLSError) {
        guard isDone else { throw .setup(OpenSSLErrors.take() ?? "OpenSSL refuses an option") }
    }

    isolated deinit { unsafe SSL_CTX_free(context) }

    /// `SSL_OP_NO_RENEGOTIATION` and `SSL_OP_NO_COMPRESSION`, whose macros Swift cannot read.
    private static let noRenegotiation: UInt64 = 1 << 30
    private static let noCompression: UInt64 = 1 << 17

    // MARK: - Connecting

    /// Connects to `server`, which must have a certificate for `name`, a host name or an IP
    /// address, from somebody who is trusted.
    package func connect(
        to server: SocketAddress,
        name: String,
        deadline: ContinuousClock.Instant?
    ) async throws(TLSError) -> TLSConnection {
        let stream: StreamConnection
        do throws(SocketError) {
            stream = try await StreamConnection.connect(to: server, deadline: deadline)
        } catch {
            throw .socket(error)
        }
        let place = Server(address: server, name: name)
        do throws(TLSError) {
            try trustCurrentCertificates()
            OpenSSLErrors.clear()
            let engine = unsafe try TLSEngine(
                context: context,
                name: name,
                session: sessions[place]
            )
            let connection = TLSConnection(stream, engine) { [weak self] session in
                self?.keep(session, for: place)
            }
            try await connection.shakeHands(deadline: deadline)
            return connection
        } catch {
            stream.close()
            // A session that the server chokes on is not offered twice.
            sessions[place] = nil
            throw error
        }
    }

    /// Has new connections trust the certificates as they are now.
    ///
    /// A resumed session proves that the server was trusted once (RFC 8446 §2.2), so none outlives a
    /// change of what is trusted.
    private func trustCurrentCertificates() throws(TLSError) {
        let store = try TrustStores.shared.store(for: source)
        guard store !== trusted else { return }
        // SAFETY: both are alive; the context takes a reference of its own.
        unsafe SSL_CTX_set1_cert_store(context, store.raw)
        trusted = store
        sessions = [:]
    }

    /// Keeps a session for the next connection to its server.
    private func keep(_ session: Session, for server: Server) {
        guard sessions.count < Self.sessionLimit || sessions[server] != nil else { return }
        sessions[server] = session
    }

    // MARK: - Sessions

    /// What two sides agreed on and can come back to (RFC 8446 §2.2).
    // SAFETY: owns one reference of the session, which OpenSSL counts; used on the loop only.
    @safe
    @ServiceLoop
    final class Session {
        let raw: OpaquePointer

        /// Takes over a reference.
        init(_ raw: OpaquePointer) {
            unsafe self.raw = raw
        }

        isolated deinit { unsafe SSL_SESSION_free(raw) }
    }
}
