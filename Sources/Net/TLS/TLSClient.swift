// SPDX-License-Identifier: Apache-2.0
internal import COpenSSL

/// Client for authenticated TLS 1.2 or 1.3 connections; stores the latest session of each server.
// SAFETY: the context is made in `init` and freed once, in `deinit`; used on the loop only.
@safe
@ServiceLoop
package final class TLSClient {
    struct Server: Hashable {
        let address: SocketAddress
        let name: String
    }

    private static let sessionLimit = 256

    private let context: OpaquePointer
    private let source: TrustSource

    private var trusted: TrustStore?
    private var sessions: [Server: Session] = [:]

    /// Limits the CPU time of handshakes with each server.
    ///
    /// A handshake counts if it fails, or if no data arrives after it.
    private(set) var budgets: [Server: LoopBudget] = [:]

    /// Creates a client that offers `protocols` by ALPN (RFC 7301), such as `dot`.
    ///
    /// - Parameter certificateFile: PEM file; nil for the system's certificates.
    package init(certificateFile: String?, protocols: [String] = []) throws(TLSError) {
        source = TrustSource(certificateFile)
        // Reports an unreadable file before the first query.
        if certificateFile != nil { _ = try TrustStores.shared.store(for: source) }
        OpenSSLErrors.clear()
        guard let made = unsafe SSL_CTX_new(TLS_client_method()) else {
            throw .setup(OpenSSLErrors.take() ?? "out of memory")
        }
        unsafe context = made
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        unsafe Self.limitHandshakes(in: context)
        unsafe SSL_CTX_set_msg_callback(context) { isSent, _, _, _, _, connection, _ in
            guard isSent == 0, let connection = unsafe connection else { return }
            if unsafe !HandshakeLimit.allows(connection) { unsafe HandshakeLimit.end(connection) }
        }
        try Self.check(
            unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
                == 1
        )
        try Self.check(unsafe Self.restrictKeyExchange(of: context))
        let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        guard !list.isEmpty else { return }
        // SAFETY: exactly the array's octets are copied. Returns 0 on success.
        try Self.check(unsafe SSL_CTX_set_alpn_protos(context, list, UInt32(list.count)) == 0)
    }

    /// Allows key exchange over elliptic curves only; returns false if OpenSSL rejects the setting.
    ///
    /// Key exchange over a large finite field could block the loop for a second.
    nonisolated static func restrictKeyExchange(of context: OpaquePointer) -> Bool {
        var curves = Array("X25519:P-256:P-384:P-521".utf8CString)
        // SAFETY: both texts end with NUL and are copied.
        let areCurvesSet = unsafe curves.withUnsafeMutableBytes {
            unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_GROUPS_LIST, 0, $0.baseAddress) == 1
        }
        let areCiphersSet = unsafe SSL_CTX_set_cipher_list(context, "DEFAULT:!kDHE:!kRSA") == 1
        return areCurvesSet && areCiphersSet
    }

    /// A long chain costs CPU time before the server is authenticated, and renegotiation could make
    /// a handshake endless.
    nonisolated static func limitHandshakes(in context: OpaquePointer) {
        _ = unsafe SSL_CTX_set_options(context, noRenegotiation | noCompression)
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, certificateOctets, nil)
    }

    /// Usual chains have 3,000 to 6,000 octets.
    private nonisolated static let certificateOctets = 24 << 10

    private static func check(_ isDone: Bool) throws(TLSError) {
        guard isDone else { throw .setup(OpenSSLErrors.take() ?? "OpenSSL rejects an option") }
    }

    isolated deinit { unsafe SSL_CTX_free(context) }

    private nonisolated static let noRenegotiation: UInt64 = 1 << 30
    private nonisolated static let noCompression: UInt64 = 1 << 17

    // MARK: - Connecting

    /// Connects and verifies the certificate for `name`, a host name or an IP address.
    ///
    /// Waits first if failed handshakes and connections without data have taken too much CPU time,
    /// because a hostile server could end each connection after the handshake.
    package func connect(
        to server: SocketAddress,
        name: String,
        deadline: Instant?
    ) async throws(TLSError) -> TLSConnection {
        let place = Server(address: server, name: name)
        var hasResumed = false
        do throws(TLSError) {
            return try await connect(place, deadline, resumes: true, &hasResumed)
        } catch {
            // Some load balancers and middleboxes end a handshake that resumes a session.
            guard hasResumed, error.mayBeOfSession else { throw error }
            return try await connect(place, deadline, resumes: false, &hasResumed)
        }
    }

    /// - Parameter hasResumed: set to true if the handshake tries to resume a session.
    private func connect(
        _ place: Server,
        _ deadline: Instant?,
        resumes: Bool,
        _ hasResumed: inout Bool
    ) async throws(TLSError) -> TLSConnection {
        let stream: StreamConnection
        do throws(SocketError) {
            try await waitForBudget(of: place, deadline)
            stream = try await StreamConnection.connect(to: place.address, deadline: deadline)
        } catch {
            throw .socket(error)
        }
        var handshakeTime: Duration = .zero
        do throws(TLSError) {
            try trustCurrentCertificates()
            // Read after `trustCurrentCertificates`, which discards the sessions of former
            // certificates.
            let session = resumes ? sessions[place] : nil
            hasResumed = session != nil
            OpenSSLErrors.clear()
            let engine = unsafe try TLSEngine(
                context: context,
                name: place.name,
                session: session
            )
            let connection = TLSConnection(stream, engine) { [weak self, trusted] session in
                guard let self, self.trusted === trusted else { return }
                keep(session, for: place)
            }
            defer { handshakeTime = connection.chargedTime }
            try await connection.handshake(deadline: deadline)
            connection.onSilentEnd = { [weak self] in self?.chargeUnanswered($0, to: place) }
            return connection
        } catch {
            stream.close()
            budgets[place, default: LoopBudget(at: Clock.now)]
                .chargeFailedHandshake(handshakeTime, at: Clock.now)
            // The resumption of this session may have caused the failure.
            sessions[place] = nil
            throw error
        }
    }

    private func waitForBudget(
        of server: Server,
        _ deadline: Instant?
    ) async throws(SocketError) {
        while var budget = budgets[server] {
            budget.update(to: Clock.now)
            budgets[server] = budget.level > .zero ? budget : nil
            guard budget.isThrottled else { return }
            let next = min(budget.resumption, deadline ?? budget.resumption)
            guard next > Clock.now else { throw .timedOut }
            guard await Waiter().wait(until: next) == .timedOut else { throw .timedOut }
        }
    }

    func chargeUnanswered(_ handshake: Duration, to server: Server) {
        let now = Clock.now
        budgets[server, default: LoopBudget(at: now)].chargeUnanswered(handshake, at: now)
    }

    /// Resumption does not verify the certificate again (RFC 8446 §2.2), so a change of the trusted
    /// certificates discards all sessions.
    private func trustCurrentCertificates() throws(TLSError) {
        let store = try TrustStores.shared.store(for: source)
        guard store !== trusted else { return }
        // SAFETY: the context adds a reference.
        unsafe SSL_CTX_set1_cert_store(context, store.raw)
        trusted = store
        sessions = [:]
    }

    private func keep(_ session: Session, for server: Server) {
        guard sessions.count < Self.sessionLimit || sessions[server] != nil else { return }
        sessions[server] = session
    }

    // MARK: - Sessions

    // SAFETY: owns one reference, which OpenSSL counts; used on the loop only.
    @safe
    @ServiceLoop
    final class Session {
        let raw: OpaquePointer

        init(_ raw: OpaquePointer) {
            unsafe self.raw = raw
        }

        isolated deinit { unsafe SSL_SESSION_free(raw) }
    }
}
