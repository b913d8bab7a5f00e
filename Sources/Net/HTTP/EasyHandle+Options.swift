// SPDX-License-Identifier: Apache-2.0
import CCurl
private import COpenSSL

// SAFETY: libcurl copies the texts, which end with NUL, and the octets of the body. The texts that
// libcurl returns are static.
extension EasyHandle {
    func setUp(for request: HTTPRequest) throws(HTTPError) {
        try setStrictness()
        try setBounds()
        try setPeer(request)
        try setTLS(request)
        try setContent(request)
    }

    func check(_ url: String) throws(HTTPError) {
        let octets = url.utf8Span.span
        for index in octets.indices where !(0x21...0x7E).contains(octets[index]) {
            throw .invalidRequest("the URL has octets that must be percent-encoded")
        }
    }

    func set(body: [UInt8]) throws(HTTPError) {
        try check(unsafe curl_easy_set_body(easy, body, body.count))
    }

    func check(_ code: CURLcode) throws(HTTPError) {
        guard code != CURLE_OK else { return }
        throw .invalidRequest(unsafe String(cString: curl_easy_strerror(code)))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
        // SAFETY: the shim passes a number to options of type long only.
        try check(unsafe curl_easy_set_long(easy, option, value))
    }

    func set(_ option: CURLoption, _ value: String) throws(HTTPError) {
        try check(unsafe Self.set(option, of: easy, to: value))
    }

    /// Nonisolated, because the isolation check of a closure costs 330 instructions.
    private nonisolated static func set(
        _ option: CURLoption,
        of easy: UnsafeMutableRawPointer,
        to value: String
    ) -> CURLcode {
        unsafe value.withCString { unsafe curl_easy_set_text(easy, option, $0) }
    }

    /// Turns off risky features; risky features that are not listed here are off by default.
    private func setStrictness() throws(HTTPError) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // libcurl 7.88 rejects an empty list.
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_HTTP09_ALLOWED, 0)
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
    }

    private func setBounds() throws(HTTPError) {
        // The send buffer can contain a token, so it must be erased. CCurl/library.c does not erase
        // blocks that have the size of a receive buffer, so the send buffer has a different size,
        // near libcurl's minimum (16 KiB). CURLOPT_BUFFERSIZE is not set, because libcurl 7.88
        // rejects it on a reset handle.
        try set(CURLOPT_UPLOAD_BUFFERSIZE, (16 << 10) + 256)
        try set(CURLOPT_LOW_SPEED_LIMIT, 1)
        try set(CURLOPT_LOW_SPEED_TIME, 5)
        try set(CURLOPT_MAXAGE_CONN, received.limits.idleTime.millisecondsRoundedUp / 1000)
    }

    /// CONNECT_TO without host and port matches every URL, so libcurl never resolves a name.
    ///
    /// CONNECT_TO forces a proxy tunnel, so it is not set for requests that the proxy can forward.
    private func setPeer(_ request: HTTPRequest) throws(HTTPError) {
        if request.proxy == nil || !Self.isForwardable(request) {
            try set(CURLOPT_CONNECT_TO, to: ["::\(Self.literal(request.server))"])
        }
        let interface = request.server.interfaceIndex
        if interface != 0 { try set(CURLOPT_ADDRESS_SCOPE, Int(interface)) }
        if let proxy = request.proxy {
            try set(CURLOPT_PROXY, "http://\(Self.literal(proxy))")
            try set(CURLOPT_NOPROXY, "")
        } else {
            // Without an empty proxy, libcurl would use `http_proxy` and similar variables.
            try set(CURLOPT_PROXY, "")
            try set(CURLOPT_NOPROXY, "*")
        }
    }

    /// True if a proxy can forward the request; many proxies allow tunnels to port 443 only.
    static func isForwardable(_ request: HTTPRequest) -> Bool {
        let authority = literal(request.server)
        let hosts =
            request.server.port == 80 ? [authority, String(authority.dropLast(3))] : [authority]
        return hosts.contains { request.url.hasPrefix("http://\($0)/") }
    }

    private func setTLS(_ request: HTTPRequest) throws(HTTPError) {
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        guard trusted != nil, Self.sharesOpenSSL, request.version != .http3 else {
            // libcurl cannot use the parsed certificates here, so it reads the certificate file for
            // each connection.
            if let file = request.certificateFile { try set(CURLOPT_CAINFO, file) }
            return
        }
        // SAFETY: null resets the option. The handle outlives the callback, and retains the store
        // with the certificates.
        try check(unsafe curl_easy_set_text(easy, CURLOPT_CAINFO, nil))
        try check(unsafe curl_easy_set_text(easy, CURLOPT_CAPATH, nil))
        let code = unsafe curl_easy_set_tls_callback(
            easy,
            { _, context, owner in
                guard let context = unsafe context.map({ OpaquePointer($0) }),
                    let owner = unsafe owner
                else { return CURLE_SSL_CERTPROBLEM }
                // SAFETY: the owner is the handle, which is in use.
                let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
                return ServiceLoop.assumeIsolated { unsafe handle.setUp(context) }
            },
            unsafe Unmanaged.passUnretained(self).toOpaque()
        )
        try check(code)
    }

    private func setUp(_ context: OpaquePointer) -> CURLcode {
        guard let trusted, unsafe TLSClient.restrictKeyExchange(of: context) else {
            return CURLE_SSL_CIPHER
        }
        // SAFETY: the context and the store are alive; OpenSSL adds a reference.
        unsafe SSL_CTX_set1_cert_store(context, trusted.raw)
        // As in libcurl: trusts a certificate in the store even without its issuer.
        unsafe X509_VERIFY_PARAM_set_flags(
            SSL_CTX_get0_param(context),
            UInt(X509_V_FLAG_PARTIAL_CHAIN)
        )
        // With AUTO_RETRY, one read would process TLS key updates as long as key updates arrive.
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_AUTO_RETRY), nil)
        // Also disables renegotiation. If a reply follows a successful handshake, ``LoopMeter``
        // does not charge the handshake, so a server could renegotiate without a charge.
        unsafe TLSClient.limitHandshakes(in: context)
        // A libcurl call does not return while frames arrive that belong to no HTTP/2 reply; this
        // callback can end the connection. SAFETY: the pool retains the meter until the connection
        // is freed.
        unsafe SSL_CTX_set_msg_callback(context, Self.noteMessage)
        unsafe SSL_CTX_ctrl(
            context,
            SSL_CTRL_SET_MSG_CALLBACK_ARG,
            0,
            Unmanaged.passUnretained(meter).toOpaque()
        )
        return CURLE_OK
    }

    /// Callback of OpenSSL for each message; ends a connection that exceeds a limit.
    ///
    /// One limit is for the records and messages of a handshake, the other for the CPU time of
    /// reads.
    private nonisolated static let noteMessage:
        @convention(c) (
            Int32, Int32, Int32, UnsafeRawPointer?, Int, OpaquePointer?, UnsafeMutableRawPointer?
        ) -> Void = { isSent, _, type, octets, count, connection, owner in
            guard let connection = unsafe connection, let owner = unsafe owner else { return }
            LoopExecutor.shared.checkIsolated()
            let meter = unsafe Unmanaged<LoopMeter>.fromOpaque(owner).takeUnretainedValue()
            var isHandshake = unsafe SSL_in_init(connection) != 0
            var isPostHandshake = false
            if isHandshake {
                // SAFETY: OpenSSL passes a complete message.
                let first = unsafe UnsafeRawBufferPointer(start: octets, count: count).first
                let kind =
                    isSent == 0 && type == SSL3_RT_HANDSHAKE ? first.map(Int32.init) : nil
                // Messages after the handshake (RFC 8446 §4.6); a record can contain many.
                isPostHandshake = kind == SSL3_MT_NEWSESSION_TICKET || kind == SSL3_MT_KEY_UPDATE
                if isPostHandshake {
                    isPostHandshake = unsafe SSL_version(connection) == TLS1_3_VERSION
                }
                isHandshake = !isPostHandshake
                if isHandshake { meter.noteHandshake(isLast: kind == SSL3_MT_FINISHED) }
            }
            guard isSent == 0 else { return }
            var isAllowed = unsafe HandshakeLimit.allows(connection)
            if isPostHandshake {
                isAllowed = meter.noteMessage() && isAllowed
            } else if type == SSL3_RT_HEADER, !isHandshake {
                isAllowed = meter.noteRecord()
            }
            if !isAllowed { unsafe HandshakeLimit.end(connection) }
        }

    nonisolated static let sharesOpenSSL =
        LibraryVersion.curl.contains("OpenSSL/\(OPENSSL_VERSION_MAJOR).")

    private func setContent(_ request: HTTPRequest) throws(HTTPError) {
        let isSecure = request.isSecure
        let version =
            switch request.version {
            case .http1: CURL_HTTP_VERSION_1_1
            case .automatic: isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1
            case .http2: isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE
            case .http3: CURL_HTTP_VERSION_3
            }
        try set(CURLOPT_HTTP_VERSION, Int(version))
        if request.wantsFreshConnection {
            try set(CURLOPT_FRESH_CONNECT, 1)
        } else if request.version != .http1, isSecure || request.version == .http2 {
            try set(CURLOPT_PIPEWAIT, 1)
        }
        for line in request.headers where Self.hasControl(line) {
            throw .invalidRequest("a header line has a control character")
        }
        // libcurl adds `Expect` only for bodies above 1 MiB.
        try set(request.body != nil ? CURLOPT_POST : CURLOPT_HTTPGET, 1)
        try set(CURLOPT_HTTPHEADER, to: request.headers)
    }

    /// A control character could end the line.
    private nonisolated static func hasControl(_ line: String) -> Bool {
        line.utf8.contains { $0 < 0x20 && $0 != 0x09 }
    }

    private static func literal(_ address: SocketAddress) -> String {
        SocketAddress(octets: address.octets, port: address.port)?.description ?? ""
    }
}

extension HTTPRequest {
    var isSecure: Bool {
        // libcurl rejects unknown schemes.
        let octets = url.utf8
        guard octets.count > 5 else { return false }
        return octets[octets.index(octets.startIndex, offsetBy: 4)] | 0x20 == UInt8(ascii: "s")
            && octets[octets.index(octets.startIndex, offsetBy: 5)] == UInt8(ascii: ":")
    }
}
