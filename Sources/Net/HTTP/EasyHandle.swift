// SPDX-License-Identifier: Apache-2.0
import CCurl

/// One handle of libcurl, set up for one kind of request and used again and again.
///
/// Making one costs more than a request over loopback, and telling it all options a fifth of that.  So
/// it keeps them, and each further request of the kind brings only what is its own.
// SAFETY: made and used on the loop only, freed once, by `deinit`; the lists that libcurl only points
// to are freed after it forgot them, in `forget`, or after the handle.
@safe
@ServiceLoop
final class EasyHandle {
    /// The handle, for libcurl.
    let easy: UnsafeMutableRawPointer

    /// The handle's address, to find its transfer by.
    var key: UInt { unsafe UInt(bitPattern: easy) }

    /// What comes of the reply.
    let received: ReceivedReply

    /// The certificates that it trusts; nil for requests without TLS.
    let trusted: TrustStore?

    /// The kind of request that it is set up for; nil if none but the one under way.
    private(set) var kind: Kind?

    /// Whether the reply is to tell how long its parts took.
    private var wantsTimes = false

    /// Lists that libcurl points to.
    private var lists: [UnsafeMutablePointer<curl_slist>]

    /// Where libcurl writes what went wrong.
    private let words: UnsafeMutableBufferPointer<CChar>

    fileprivate init?(
        _ limits: HTTPClient.Limits,
        _ memory: ReplyMemory,
        trusting store: TrustStore?
    ) {
        guard let made = unsafe curl_easy_init() else { return nil }
        unsafe easy = made
        unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe words.initialize(repeating: 0)
        unsafe lists = []
        received = ReceivedReply(limits, memory)
        trusted = store
    }

    isolated deinit {
        unsafe curl_easy_cleanup(easy)
        freeLists()
        unsafe words.deallocate()
    }
}

// MARK: - Requests

extension EasyHandle {
    /// What requests have in common that differ in path, body and time only.
    struct Kind: Hashable {
        private let server: SocketAddress
        private let headers: [String]
        private let version: HTTPVersion
        private let isSecure: Bool
        private let hasBody: Bool

        /// The kind of `request`; nil for what is rare, so that it is set up for it alone.
        init?(_ request: HTTPRequest) {
            guard request.proxy == nil, !request.wantsFreshConnection else { return nil }
            server = request.server
            headers = request.headers
            version = request.version
            isSecure = request.isSecure
            hasBody = request.body != nil
        }
    }

    /// Gives libcurl everything that it has to know of `request`, and does not know yet.
    ///
    /// - Throws: `HTTPError.invalidRequest`.
    func prepare(
        _ request: HTTPRequest,
        _ wanted: Kind?,
        time: Duration
    ) throws(HTTPError) {
        received.begin()
        wantsTimes = request.wantsTimes
        if wanted == nil || kind != wanted {
            forget()
            // SAFETY: the buffer and what comes of the reply live as long as the handle.
            unsafe curl_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, words.baseAddress)
            unsafe received.attach(to: easy)
            try setUp(for: request)
        }
        try set(url: request.url)
        if let body = request.body { try set(body: body) }
        try set(time: time)
        kind = wanted
    }

    /// Brings the handle, which is in no pool, back to libcurl's defaults.
    func forget() {
        kind = nil
        // SAFETY: in no multi handle; keeps caches, forgets every pointer it was given.
        unsafe curl_easy_reset(easy)
        freeLists()
    }

    /// Has the handle, which is in no pool, give back the URL: there may be a token in it.
    func forgetURL() {
        // SAFETY: no text takes the option back, which frees libcurl's copy.
        unsafe curl_easy_set_text(easy, CURLOPT_URL, nil)
    }

    /// Frees what libcurl pointed to.
    private func freeLists() {
        // SAFETY: each list is freed once, as it is taken out.
        while let list = unsafe lists.popLast() { unsafe curl_slist_free_all(list) }
    }

    /// Gives libcurl a list of texts, which lives as long as it knows of it.
    func set(_ option: CURLoption, to texts: [String]) throws(HTTPError) {
        // SAFETY: libcurl copies each text, which ends with NUL; a list that is not kept is freed.
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
}

// MARK: - The end

extension EasyHandle {
    /// The port of this end of the connection, 0 if there is none yet.
    var localPort: UInt16 { UInt16(truncatingIfNeeded: long(CURLINFO_LOCAL_PORT)) }

    /// How many connections were begun for the request.
    var connectionsOpened: Int { long(CURLINFO_NUM_CONNECTS) }

    /// Whether the request was sent over a connection that was there before.
    var isReusing: Bool { wasSent && connectionsOpened == 0 }

    /// Whether libcurl had a connection to put the request on, TLS and a proxy's tunnel included.
    var wasSent: Bool { time(CURLINFO_PRETRANSFER_TIME_T) > .zero }

    /// How long the parts of the transfer took.
    var times: TransferTimes {
        TransferTimes(
            connected: time(CURLINFO_CONNECT_TIME_T),
            secured: time(CURLINFO_APPCONNECT_TIME_T),
            firstOctet: time(CURLINFO_STARTTRANSFER_TIME_T)
        )
    }

    /// A time since the beginning that libcurl knows of the request, zero if it does not.
    private func time(_ info: CURLINFO) -> Duration {
        var microseconds: curl_off_t = 0
        // SAFETY: writes one integer.
        unsafe curl_easy_get_offset(easy, info, &microseconds)
        return .microseconds(microseconds)
    }

    /// The reply, or why there is none, by libcurl's verdict.
    func result(_ code: CURLcode) -> Result<HTTPReply, HTTPError> {
        code == CURLE_OK ? .success(reply) : .failure(received.fault ?? error(code))
    }

    /// The reply, once all of it has come.
    private var reply: HTTPReply {
        var reply = HTTPReply(status: long(CURLINFO_RESPONSE_CODE), body: received.body)
        reply.date = received.headers.date
        reply.retryAfter = received.headers.retryAfter
        reply.contentType = received.headers.contentType
        reply.age = received.headers.age
        reply.connectionReused = connectionsOpened == 0
        if wantsTimes { reply.times = times }
        reply.version =
            switch long(CURLINFO_HTTP_VERSION) {
            case Int(CURL_HTTP_VERSION_1_0): "1.0"
            case Int(CURL_HTTP_VERSION_1_1): "1.1"
            case Int(CURL_HTTP_VERSION_2_0): "2"
            case Int(CURL_HTTP_VERSION_3): "3"
            default: ""
            }
        return reply
    }

    /// Whether a connection that was there before ended before anything of the reply had come.
    func wasCutOff(_ code: CURLcode) -> Bool {
        guard [CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR].contains(code) else {
            return false
        }
        return received.headers.octets == 0 && isReusing
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
        // SAFETY: the buffer is this handle's.
        let octets = unsafe words.prefix { $0 != 0 }.prefix(200).map { UInt8(bitPattern: $0) }
        guard !octets.isEmpty else { return nil }
        return String(
            decoding: octets.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 },
            as: UTF8.self
        )
    }

    /// A number that libcurl knows about the request, 0 if it does not.
    private func long(_ info: CURLINFO) -> Int {
        var value = 0
        // SAFETY: writes one integer.
        unsafe curl_easy_get_long(easy, info, &value)
        return value
    }
}

// MARK: - All of them

/// The handles that wait for a request, all of which trust the same certificates.
@ServiceLoop
final class EasyHandles {
    /// Handles kept for later; more are freed.
    private static let maximumIdle = 128

    /// The certificates that they trust; nil for requests without TLS.
    let trusted: TrustStore?

    private let limits: HTTPClient.Limits
    private let memory: ReplyMemory
    private var idle: [EasyHandle] = []

    /// - Parameter memory: bound of the reply bodies of one client, however many groups it has.
    init(_ limits: HTTPClient.Limits, _ memory: ReplyMemory, trusting store: TrustStore?) {
        self.limits = limits
        self.memory = memory
        trusted = store
    }

    /// A handle for a request, one that is set up for its kind if there is any.
    func take(for kind: EasyHandle.Kind?) throws(HTTPError) -> EasyHandle {
        if kind != nil, let index = idle.lastIndex(where: { $0.kind == kind }) {
            idle.swapAt(index, idle.endIndex - 1)
        }
        if let handle = idle.popLast() { return handle }
        guard let handle = EasyHandle(limits, memory, trusting: trusted) else {
            throw .invalidRequest("libcurl is out of memory")
        }
        return handle
    }

    /// Takes back a handle that is in no pool.
    func giveBack(_ handle: EasyHandle) {
        if idle.count < Self.maximumIdle { idle.append(handle) }
    }
}
