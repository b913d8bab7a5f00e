// SPDX-License-Identifier: Apache-2.0
import CCurl
private import COpenSSL

extension EasyHandle {
    /// Sets all options that depend on the kind of `request`, on a handle with default options.
    func setUp(for request: HTTPRequest) throws(HTTPError) {
        try setStrictness()
        try setBounds()
        try setPeer(request)
        try setTLS(request)
        try setContent(request)
    }

    func set(url: String) throws(HTTPError) {
        // SAFETY: the text ends with NUL and lives during the call; libcurl copies it.
        let code: CURLcode? = unsafe url.withCString { text in
            var count = 0
            while unsafe text[count] > 0x20, unsafe text[count] < 0x7F { count += 1 }
            guard count == url.utf8.count else { return nil }
            return unsafe curl_easy_set_text(easy, CURLOPT_URL, text)
        }
        guard let code else {
            throw .invalidRequest("the URL has octets that must be percent-encoded")
        }
        try check(code)
    }

    func set(body: [UInt8]) throws(HTTPError) {
        // SAFETY: exactly the array's octets are copied.
        try check(unsafe curl_easy_set_body(easy, body, body.count))
    }

    /// Sets the time limit of the request, including connection setup and TLS handshake.
    ///
    /// The pool ends the request at its deadline (`ConnectionPool.expire`); libcurl's timers fire
    /// one second later as a fallback. Connection setup has no shorter limit, because that would
    /// fail every request to a server with a slow handshake.
    func set(time: Duration) throws(HTTPError) {
        let last = time.millisecondsRoundedUp + 1000
        try set(CURLOPT_TIMEOUT_MS, last)
        try set(CURLOPT_CONNECTTIMEOUT_MS, last)
    }

    /// Throws if libcurl rejected an option.
    func check(_ code: CURLcode) throws(HTTPError) {
        guard code != CURLE_OK else { return }
        // SAFETY: libcurl's text is static and ends with NUL.
        throw .invalidRequest(unsafe String(cString: curl_easy_strerror(code)))
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
        // SAFETY: the shim passes a number to options that take one.
        try check(unsafe curl_easy_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String) throws(HTTPError) {
        // SAFETY: the text ends with NUL and lives during the call; libcurl copies it.
        try check(unsafe value.withCString { unsafe curl_easy_set_text(easy, option, $0) })
    }

    /// Sets the options that all requests share: no redirects, no netrc, no HTTP/0.9.
    ///
    /// Cookies, HSTS, alternative services and decompression are off by default. Name resolution is
    /// never used, because `setPeer` maps every connection to an address.
    private func setStrictness() throws(HTTPError) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // One entry, because libcurl 7.88 refuses an empty list. Redirects are never followed.
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_HTTP09_ALLOWED, 0)
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
    }

    /// Sets the limits for stalled transfers and for the age of idle connections, and the size of
    /// the send buffer.
    private func setBounds() throws(HTTPError) {
        // libcurl's minimum.  The default, 64 KiB, would be two thirds of the memory of a transfer.
        // CURLOPT_BUFFERSIZE keeps its default: libcurl 7.88 refuses the option on a handle that
        // was reset.
        try set(CURLOPT_UPLOAD_BUFFERSIZE, 16 << 10)
        // A transfer fails if it is slower than 1 octet per second for 5 seconds; this matters only
        // if the caller's deadline is later.
        try set(CURLOPT_LOW_SPEED_LIMIT, 1)
        try set(CURLOPT_LOW_SPEED_TIME, 5)
        try set(CURLOPT_MAXAGE_CONN, received.limits.idleTime.millisecondsRoundedUp / 1000)
    }

    /// Sets the server address and the proxy.
    ///
    /// A CONNECT_TO entry without host and port matches every URL, so libcurl never resolves a
    /// name. Unlike a changed RESOLVE entry, it takes effect while a connection is open. With a
    /// proxy it forces a tunnel, so it is omitted for requests that the proxy can forward.
    private func setPeer(_ request: HTTPRequest) throws(HTTPError) {
        if request.proxy == nil || !Self.isForwardable(request) {
            try set(CURLOPT_CONNECT_TO, to: ["::\(Self.literal(request.server))"])
        }
        if request.server.scope != 0 { try set(CURLOPT_ADDRESS_SCOPE, Int(request.server.scope)) }
        if let proxy = request.proxy {
            try set(CURLOPT_PROXY, "http://\(Self.literal(proxy))")
            try set(CURLOPT_NOPROXY, "")
            // The response of the proxy to CONNECT is not part of the reply.
            try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        } else {
            // Otherwise libcurl would use http_proxy and similar variables of the environment.
            try set(CURLOPT_PROXY, "")
            try set(CURLOPT_NOPROXY, "*")
        }
    }

    /// Returns true if a proxy that forwards the URL unchanged reaches `server`: no TLS, host is
    /// the address.
    ///
    /// Many proxies allow tunnels to port 443 only, so requests that need no tunnel should not use
    /// one.
    private static func isForwardable(_ request: HTTPRequest) -> Bool {
        let authority = literal(request.server)
        let hosts =
            request.server.port == 80 ? [authority, String(authority.dropLast(3))] : [authority]
        return hosts.contains { request.url.hasPrefix("http://\($0)/") }
    }

    /// Sets the TLS options: the chain and the name are always verified, with TLS 1.2 or later.
    private func setTLS(_ request: HTTPRequest) throws(HTTPError) {
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        guard trusted != nil, Self.sharesOpenSSL, request.version != .http3 else {
            // A libcurl that cannot share a store reads the file itself for each connection.
            if let file = request.certificateFile { try set(CURLOPT_CAINFO, file) }
            return
        }
        // SAFETY: a null text resets the option. The handle retains the store while libcurl uses
        // it.
        try check(unsafe curl_easy_set_text(easy, CURLOPT_CAINFO, nil))
        try check(unsafe curl_easy_set_text(easy, CURLOPT_CAPATH, nil))
        let code = unsafe curl_easy_set_tls_callback(
            easy,
            { _, context, owner in
                guard let context = unsafe context.map({ OpaquePointer($0) }),
                    let owner = unsafe owner
                else { return CURLE_SSL_CERTPROBLEM }
                // SAFETY: the owner is the handle, which libcurl uses.
                let handle = unsafe Unmanaged<EasyHandle>.fromOpaque(owner).takeUnretainedValue()
                return ServiceLoop.assumeIsolated { unsafe handle.setUp(context) }
            },
            unsafe Unmanaged.passUnretained(self).toOpaque()
        )
        try check(code)
    }

    /// Sets up the TLS context of a new connection.
    private func setUp(_ context: OpaquePointer) -> CURLcode {
        guard let trusted, unsafe TLSClient.restrictKeyExchange(of: context) else {
            return CURLE_SSL_CIPHER
        }
        // SAFETY: the context and the handle's store are alive; OpenSSL adds a reference.
        unsafe SSL_CTX_set1_cert_store(context, trusted.raw)
        // As in libcurl: a certificate in the store is trusted even if its issuer is not in the
        // store.
        unsafe X509_VERIFY_PARAM_set_flags(
            SSL_CTX_get0_param(context),
            UInt(X509_V_FLAG_PARTIAL_CHAIN)
        )
        // Otherwise one read processes key updates until the server stops sending them.
        unsafe SSL_CTX_ctrl(context, SSL_CTRL_CLEAR_MODE, Int(SSL_MODE_AUTO_RETRY), nil)
        // The meter ignores handshakes, so a server must not start another one.
        unsafe TLSClient.disableRenegotiation(in: context)
        // libcurl reads HTTP/2 frames in one call as long as they arrive, if they belong to no
        // reply.  So the connection is ended here.
        // SAFETY: the connection's pool retains the meter until the connection is freed.
        unsafe SSL_CTX_set_msg_callback(context) { isSent, _, type, _, _, connection, meter in
            guard isSent == 0, let connection = unsafe connection, let meter = unsafe meter
            else { return }
            LoopExecutor.shared.checkIsolated()
            var isAllowed = unsafe HandshakeLimit.allows(connection)
            if type == SSL3_RT_HEADER, unsafe SSL_in_init(connection) == 0 {
                isAllowed = unsafe Unmanaged<LoopMeter>.fromOpaque(meter).takeUnretainedValue()
                    .noteRecord()
            }
            if !isAllowed { unsafe HandshakeLimit.end(connection) }
        }
        unsafe SSL_CTX_ctrl(
            context,
            SSL_CTRL_SET_MSG_CALLBACK_ARG,
            0,
            Unmanaged.passUnretained(meter).toOpaque()
        )
        return CURLE_OK
    }

    /// True if libcurl uses the same OpenSSL as this program, so that both can share one store.
    private static let sharesOpenSSL =
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
        // Wait for a connection that can be multiplexed instead of opening another one.
        if request.wantsFreshConnection {
            try set(CURLOPT_FRESH_CONNECT, 1)
        } else if request.version != .http1, isSecure || request.version == .http2 {
            try set(CURLOPT_PIPEWAIT, 1)
        }
        for line in request.headers where Self.hasControl(line) {
            throw .invalidRequest("a header line has a control character")
        }
        var headers = request.headers
        if request.body != nil {
            try set(CURLOPT_POST, 1)
            // Never wait for a 100 (Continue).
            headers.append("Expect:")
        } else {
            try set(CURLOPT_HTTPGET, 1)
        }
        try set(CURLOPT_HTTPHEADER, to: headers)
    }

    /// Returns true if a header line contains a control character, which could end the line.
    private nonisolated static func hasControl(_ line: String) -> Bool {
        line.utf8.contains { $0 < 0x20 && $0 != 0x09 }
    }

    /// Returns address and port for libcurl, without the scope, which is a separate option.
    private static func literal(_ address: SocketAddress) -> String {
        SocketAddress(octets: address.octets, port: address.port)?.description ?? ""
    }
}

extension HTTPRequest {
    var isSecure: Bool {
        var octets = url.utf8.makeIterator()
        return "https:".utf8.allSatisfy { letter in octets.next().map { $0 | 0x20 } == letter }
    }
}
