// SPDX-License-Identifier: Apache-2.0
import CCurl

/// One request on one handle of libcurl, and what has come of its reply.
// SAFETY: libcurl calls back while the pool knows the transfer, and the pool keeps it alive; the
// texts and lists that libcurl only points to are freed in `release`, after the pool forgot it.
@safe
@ServiceLoop
final class Transfer {
    /// The handle, for libcurl.
    let easy: UnsafeMutableRawPointer

    /// The handle's address, to find the transfer by.
    var key: UInt { unsafe UInt(bitPattern: easy) }

    /// When the request was made.
    let started: ContinuousClock.Instant

    /// Resumed when there is a result.
    let waiter = Waiter()

    let limits: HTTPClient.Limits

    /// Connections that were begun for it; known at the end.
    private(set) var connectionsOpened = 0

    /// Lists that libcurl points to.
    private var lists: [UnsafeMutablePointer<curl_slist>]

    /// What has come.
    private let received: ReceivedReply

    private var outcome: Result<HTTPReply, HTTPError>?

    /// Keeps the handle.
    let handle: EasyHandles.Handle

    /// Makes a transfer that is not prepared yet.
    init(
        on handle: EasyHandles.Handle,
        limits: HTTPClient.Limits,
        started: ContinuousClock.Instant
    ) {
        self.handle = handle
        self.limits = limits
        self.started = started
        received = ReceivedReply(limits)
        unsafe easy = handle.easy
        unsafe lists = []
        unsafe handle.words[0] = 0
    }

    /// Frees what libcurl pointed to; to be called once, when the handle is in no pool any more.
    func release() {
        while let list = unsafe lists.popLast() { unsafe curl_slist_free_all(list) }
    }

    /// Has libcurl call back and write here.
    func attach() {
        unsafe curl_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, handle.words.baseAddress)
        unsafe received.attach(to: easy)
    }

    /// Gives libcurl a list of texts, which lives until ``release()``.
    func set(_ option: CURLoption, to texts: [String]) throws(HTTPError) {
        var list: UnsafeMutablePointer<curl_slist>?
        for text in texts {
            let longer = unsafe text.withCString { unsafe curl_slist_append(list, $0) }
            guard let longer = unsafe longer else {
                unsafe curl_slist_free_all(list)
                throw .invalidRequest("libcurl is out of memory")
            }
            unsafe list = longer
        }
        guard let list = unsafe list else { return }
        unsafe lists.append(list)
        try check(unsafe curl_easy_set_list(easy, option, list))
    }

    /// The reply, or why there is none.
    func result() throws(HTTPError) -> HTTPReply {
        guard let outcome else { preconditionFailure("a transfer has no result before its end") }
        return try outcome.get()
    }
}

// MARK: - The end

extension Transfer {
    /// The port of this end of the connection, 0 if there is none yet.
    var localPort: UInt16 { UInt16(truncatingIfNeeded: long(CURLINFO_LOCAL_PORT)) }

    /// Whether the request was sent over a connection that was there before.
    var isReusing: Bool {
        var sent: curl_off_t = 0
        // SAFETY: writes one integer.
        unsafe curl_easy_get_offset(easy, CURLINFO_PRETRANSFER_TIME_T, &sent)
        return sent > 0 && long(CURLINFO_NUM_CONNECTS) == 0
    }

    /// Notes how it ended: by libcurl's verdict, or by ours.
    func end(with result: Result<CURLcode, HTTPError>) {
        connectionsOpened = long(CURLINFO_NUM_CONNECTS)
        outcome =
            switch result {
            case .failure(let error): .failure(error)
            case .success(CURLE_OK): .success(reply())
            case .success(let code): .failure(received.fault ?? error(code))
            }
    }

    /// The reply, once all of it has come.
    private func reply() -> HTTPReply {
        var reply = HTTPReply(status: long(CURLINFO_RESPONSE_CODE), body: received.body)
        reply.date = received.headers.date
        reply.retryAfter = received.headers.retryAfter
        reply.contentType = received.headers.contentType
        reply.age = received.headers.age
        reply.connectionReused = long(CURLINFO_NUM_CONNECTS) == 0
        reply.version =
            switch long(CURLINFO_HTTP_VERSION) {
            case Int(CURL_HTTP_VERSION_1_0): "1.0"
            case Int(CURL_HTTP_VERSION_1_1): "1.1"
            case Int(CURL_HTTP_VERSION_2_0): "2"
            case Int(CURL_HTTP_VERSION_3): "3"
            default: ""
            }
        reply.duration = started.duration(to: Clock.now)
        return reply
    }

    /// What libcurl's verdict means to us.
    private func error(_ code: CURLcode) -> HTTPError {
        let tunnel = long(CURLINFO_HTTP_CONNECTCODE)
        if tunnel >= 300 { return .connect("the proxy answers HTTP \(tunnel)") }
        // SAFETY: libcurl's text is static and ends with NUL.
        let text = unsafe String(cString: curl_easy_strerror(code))
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            return .timedOut(reused: isReusing)
        case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
            CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE, CURLE_PROXY:
            let cause = Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO))
            return .connect(cause == 0 ? text : errorText(cause))
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            return received.headers.octets == 0 ? .connect(text) : .broken(text)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_USE_SSL_FAILED:
            return .tls(details ?? text)
        case CURLE_UNSUPPORTED_PROTOCOL where localPort != 0:
            // The URL was good enough to connect: libcurl takes a reply without a status line for
            // HTTP/0.9, which it is not allowed.
            return .broken("the reply is not HTTP")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_NOT_BUILT_IN,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ENGINE_NOTFOUND, CURLE_BAD_FUNCTION_ARGUMENT:
            return .invalidRequest(text)
        default:
            return .broken(text)
        }
    }

    /// libcurl's own words, for TLS only: elsewhere they may repeat the URL and so a secret.
    ///
    /// The peer's certificate can be quoted in them, so they are cut and stripped of controls.
    private var details: String? {
        // SAFETY: the buffer is this transfer's until it is released.
        let octets = unsafe handle.words.prefix { $0 != 0 }.prefix(200).map {
            UInt8(bitPattern: $0)
        }
        guard !octets.isEmpty else { return nil }
        let text = String(
            decoding: octets.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 },
            as: UTF8.self
        )
        return text
    }

    /// A number that libcurl knows about the transfer, 0 if it does not.
    private func long(_ info: CURLINFO) -> Int {
        var value = 0
        // SAFETY: writes one integer.
        unsafe curl_easy_get_long(easy, info, &value)
        return value
    }
}
