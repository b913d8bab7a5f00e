// SPDX-License-Identifier: Apache-2.0
import CCurl
private import COpenSSL

extension EasyHandle {
    /// Tells libcurl all that `request` shares with others of its kind, of a handle that knows nothing.
    func setUp(for request: HTTPRequest) throws(HTTPError) {
        try setStrictness()
        try setBounds()
        try setPeer(request)
        try setTLS(request)
        try setContent(request)
    }

    /// Tells where it goes in the server.
    func set(url: String) throws(HTTPError) {
        // SAFETY: the text ends with NUL and lives during the call; libcurl copies it.
        let code: CURLcode? = unsafe url.withCString { text in
            var count = 0
            while unsafe text[count] > 0x20, unsafe text[count] < 0x7F { count += 1 }
            guard count == url.utf8.count else { return nil }
            return unsafe curl_easy_set_text(easy, CURLOPT_URL, text)
        }
        guard let code else {
            throw .invalidRequest("a URL with octets that have to be percent-encoded")
        }
        try check(code)
    }

    /// Tells what is sent along.
    func set(body: [UInt8]) throws(HTTPError) {
        // SAFETY: exactly the array's octets are copied.
        try check(unsafe curl_easy_set_body(easy, body, body.count))
    }

    /// Sets the time that the request may take, connecting and the TLS handshake included.
    ///
    /// The pool ends the request at the deadline, while the connection can still be examined
    /// (`ConnectionPool.expire`); libcurl's own timers fire a second later and are the last resort.
    /// Connecting has no limit of its own: a server that is slow to connect is hedged by the caller,
    /// and a limit below the deadline would fail every request to a server with a slow handshake.
    func set(time: Duration) throws(HTTPError) {
        let last = time.millisecondsRoundedUp + 1000
        try set(CURLOPT_TIMEOUT_MS, last)
        try set(CURLOPT_CONNECTTIMEOUT_MS, last)
    }

    /// Throws if libcurl did not take an option.
    func check(_ code: CURLcode) throws(HTTPError) {
        guard code != CURLE_OK else { return }
        // SAFETY: libcurl's text is static and ends with NUL.
        throw .invalidRequest(unsafe String(cString: curl_easy_strerror(code)))
    }

    /// Sets a number.
    private func set(_ option: CURLoption, _ value: Int) throws(HTTPError) {
        // SAFETY: the shim passes a number to options that take one.
        try check(unsafe curl_easy_set_long(easy, option, value))
    }

    /// Sets a text, which libcurl copies.
    private func set(_ option: CURLoption, _ value: String) throws(HTTPError) {
        // SAFETY: the text ends with NUL and lives during the call; libcurl copies it.
        try check(unsafe value.withCString { unsafe curl_easy_set_text(easy, option, $0) })
    }

    /// What holds for every request: nothing is followed, asked or remembered on the side.
    ///
    /// Cookies, HSTS, alternative services and decompression stay off because nothing turns them
    /// on; so does name look-up, as every connection is mapped to an address in `setPeer`.
    private func setStrictness() throws(HTTPError) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        // libcurl 7.88 refuses an empty list; nothing is followed anyway.
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "https")
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_HTTP09_ALLOWED, 0)
        try set(CURLOPT_TCP_NODELAY, 1)
        try set(CURLOPT_TCP_KEEPALIVE, 1)
    }

    /// How long nothing may come, and how old a connection may be.
    private func setBounds() throws(HTTPError) {
        // Less than an octet a second, five seconds long: for callers whose deadline is far off.
        try set(CURLOPT_LOW_SPEED_LIMIT, 1)
        try set(CURLOPT_LOW_SPEED_TIME, 5)
        try set(CURLOPT_MAXAGE_CONN, received.limits.idleTime.millisecondsRoundedUp / 1000)
    }

    /// Where it goes.
    ///
    /// An entry of CONNECT_TO without host and port maps whatever the URL says, in whatever
    /// spelling, so libcurl never has a name to look up.  The target belongs to what it compares
    /// before it reuses a connection (a changed RESOLVE would be ignored while one lives).  With a
    /// proxy it also makes libcurl ask for a tunnel, so it is left out of what can be forwarded.
    private func setPeer(_ request: HTTPRequest) throws(HTTPError) {
        if request.proxy == nil || !Self.isForwardable(request) {
            try set(CURLOPT_CONNECT_TO, to: ["::\(Self.literal(request.server))"])
        }
        if request.server.scope != 0 { try set(CURLOPT_ADDRESS_SCOPE, Int(request.server.scope)) }
        if let proxy = request.proxy {
            try set(CURLOPT_PROXY, "http://\(Self.literal(proxy))")
            try set(CURLOPT_NOPROXY, "")
            // What the proxy says about the tunnel is no part of the reply.
            try set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        } else {
            // Else libcurl would read http_proxy and its kin from the environment.
            try set(CURLOPT_PROXY, "")
            try set(CURLOPT_NOPROXY, "*")
        }
    }

    /// Whether a proxy that is sent the URL as it is asks `server`: without TLS and without a name.
    ///
    /// Many proxies make tunnels to port 443 only, so what can do without one shall.
    private static func isForwardable(_ request: HTTPRequest) -> Bool {
        let authority = literal(request.server)
        let hosts =
            request.server.port == 80 ? [authority, String(authority.dropLast(3))] : [authority]
        return hosts.contains { request.url.hasPrefix("http://\($0)/") }
    }

    /// Whom to trust: never less than a chain and a name that are right, over TLS 1.2 or later.
    private func setTLS(_ request: HTTPRequest) throws(HTTPError) {
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        guard let trusted, Self.sharesOpenSSL, request.version != .http3 else {
            // A libcurl that cannot share a store reads the file itself, for each connection.
            if let file = request.certificateFile { try set(CURLOPT_CAINFO, file) }
            return
        }
        // SAFETY: no text takes an option back.  The handle keeps the store while libcurl knows it.
        try check(unsafe curl_easy_set_text(easy, CURLOPT_CAINFO, nil))
        try check(unsafe curl_easy_set_text(easy, CURLOPT_CAPATH, nil))
        let code = unsafe curl_easy_set_tls_callback(
            easy,
            { _, context, store in
                // SAFETY: a context of OpenSSL's and the handle's store, of which it takes a reference.
                unsafe SSL_CTX_set1_cert_store(OpaquePointer(context), OpaquePointer(store))
                // As libcurl does: a certificate in the store is trusted, whoever issued it.
                unsafe X509_VERIFY_PARAM_set_flags(
                    SSL_CTX_get0_param(OpaquePointer(context)),
                    UInt(X509_V_FLAG_PARTIAL_CHAIN)
                )
                return CURLE_OK
            },
            UnsafeMutableRawPointer(trusted.raw)
        )
        try check(code)
    }

    /// Whether libcurl is built on the OpenSSL that this program uses, so that both can use one store.
    private static let sharesOpenSSL =
        LibraryVersion.curl.contains("OpenSSL/\(OPENSSL_VERSION_MAJOR).")

    /// What is sent, and in which version of HTTP.
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
        // Wait for a connection that others may share rather than open one more beside it.
        if request.wantsFreshConnection {
            try set(CURLOPT_FRESH_CONNECT, 1)
        } else if request.version != .http1, isSecure || request.version == .http2 {
            try set(CURLOPT_PIPEWAIT, 1)
        }
        for line in request.headers where Self.hasControl(line) {
            throw .invalidRequest("a header line with a control character")
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

    /// Whether a header line has an octet that could end it.
    private nonisolated static func hasControl(_ line: String) -> Bool {
        line.utf8.contains { $0 < 0x20 && $0 != 0x09 }
    }

    /// Address and port as libcurl reads them, without the scope, which it is told apart.
    private static func literal(_ address: SocketAddress) -> String {
        SocketAddress(octets: address.octets, port: address.port)?.description ?? ""
    }
}

extension HTTPRequest {
    /// Whether TLS is wanted.
    var isSecure: Bool {
        var octets = url.utf8.makeIterator()
        return "https:".utf8.allSatisfy { letter in octets.next().map { $0 | 0x20 } == letter }
    }
}
