// SPDX-License-Identifier: Apache-2.0
import CCurl
internal import Glibc

/// Easy handle of libcurl, reused for requests of the same ``Kind``.
// SAFETY: used on the loop only, freed once, in `deinit`. `forget` resets the handle before it
// frees the lists.
@safe
@ServiceLoop
final class EasyHandle {
    let easy: UnsafeMutableRawPointer

    var transfer: Transfer?

    let received: ReceivedReply

    let trusted: TrustStore?

    private(set) var kind: Kind?

    private var wantsTimes = false

    var hasSocketCallbacks = false

    private var lists: [UnsafeMutablePointer<curl_slist>]

    private var parsedURL: OpaquePointer?

    /// URL in `parsedURL`, up to and including the question mark, with NUL; nil without a query.
    private var base: [CChar]?

    private let words: UnsafeMutableBufferPointer<CChar>

    let meter: LoopMeter

    init?(
        _ limits: HTTPClient.Limits,
        _ memory: ReplyMemory.Share,
        _ meter: LoopMeter,
        trusting store: TrustStore?
    ) {
        guard let made = unsafe curl_easy_init() else { return nil }
        unsafe easy = made
        unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe words.initialize(repeating: 0)
        unsafe lists = []
        received = ReceivedReply(limits, memory, meter)
        self.meter = meter
        trusted = store
    }

    isolated deinit {
        unsafe curl_easy_cleanup(easy)
        freeOptions()
        unsafe words.deallocate()
    }
}

// MARK: - Requests

extension EasyHandle {
    func isPrepared(for request: HTTPRequest) -> Bool { kind?.isKind(of: request) ?? false }

    func prepare(_ request: HTTPRequest) throws(HTTPError) {
        received.begin(
            isSentOnce: request.isSentOnce,
            isTunnelled: request.proxy != nil && !Self.isForwardable(request),
            requiresHTTP2: LibraryVersion.hasStaleHeaders && kind != nil
        )
        wantsTimes = request.wantsTimes
        if kind == nil {
            // SAFETY: the buffer, `received` and `self` live as long as the handle.
            unsafe curl_easy_set_pointer(easy, CURLOPT_ERRORBUFFER, words.baseAddress)
            unsafe curl_easy_set_pointer(
                easy,
                CURLOPT_PRIVATE,
                Unmanaged.passUnretained(self).toOpaque()
            )
            unsafe received.attach(to: easy)
            try setUp(for: request)
            kind = Kind(request)
        }
        if unsafe parsedURL == nil || kind?.url == nil { try set(url: request.url) }
        if let body = request.body { try set(body: body) }
    }

    nonisolated static func handle(of easy: UnsafeMutableRawPointer) -> EasyHandle? {
        // SAFETY: ``prepare(_:)`` has set the pointer to the handle, which is in use.
        unsafe curl_easy_get_owner(easy).map {
            unsafe Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Sets the URL, as text and parsed.
    ///
    /// libcurl needs the text only to repeat a request. Without the parsed URL, libcurl 7.88 would
    /// parse the text for each request.
    private func set(url: String) throws(HTTPError) {
        try check(url)
        try set(CURLOPT_URL, url)
        // SAFETY: both texts end with NUL; libcurl copies the query.
        if let base, unsafe curl_url_set_query(parsedURL, base, url) { return }
        // SAFETY: null resets the option; libcurl copies the text; the handle retains the parsed
        // URL.
        unsafe curl_easy_set_pointer(easy, CURLOPT_CURLU, nil)
        freeURL()
        guard let parsed = unsafe curl_url() else { throw .invalidRequest("no memory") }
        unsafe parsedURL = parsed
        guard unsafe curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK else {
            throw .invalidRequest("the URL is malformed")
        }
        let end = url.utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
        if let end, url[end] == "?" { base = url.utf8[...end].map { CChar(bitPattern: $0) } + [0] }
        try check(
            unsafe curl_easy_set_pointer(easy, CURLOPT_CURLU, UnsafeMutableRawPointer(parsed))
        )
    }

    /// True if another transfer may use the handle; see ``LibraryVersion/hasStaleHeaders``.
    var isReusable: Bool {
        guard LibraryVersion.hasStaleHeaders else { return true }
        // ``ReceivedReply`` must check that the next connection uses HTTP/2. The check needs TLS,
        // and a libcurl that uses the same OpenSSL as this program.
        guard let kind, kind.isSecure, Self.sharesOpenSSL else { return false }
        return long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0)
    }

    /// The handle must be in no pool.
    func forget() {
        kind = nil
        hasSocketCallbacks = false
        // SAFETY: the handle is in no multi handle; libcurl drops every pointer.
        unsafe curl_easy_reset(easy)
        freeOptions()
    }

    /// If the kind has no fixed URL, removes the query of the URL, which can contain a token.
    ///
    /// The handle must be in no multi handle.
    func forgetQuery() {
        guard kind?.url == nil else { return }
        // SAFETY: null resets an option, or removes a part of the parsed URL.
        unsafe curl_easy_set_text(easy, CURLOPT_URL, nil)
        unsafe curl_url_set(parsedURL, CURLUPART_QUERY, nil, 0)
    }

    private func freeURL() {
        // SAFETY: no option refers to the parsed URL.
        unsafe curl_url_cleanup(parsedURL)
        unsafe parsedURL = nil
        base = nil
    }

    private func freeOptions() {
        // SAFETY: each option is removed before it is freed.
        while let list = unsafe lists.popLast() { unsafe curl_slist_free_all(list) }
        freeURL()
    }

    func set(_ option: CURLoption, to texts: [String]) throws(HTTPError) {
        // SAFETY: libcurl copies each text; on failure the list is freed.
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

extension HTTPReply {
    fileprivate init(
        status: Int,
        body: [UInt8],
        headers: ReplyHeaders,
        connectionReused: Bool,
        version: String,
        times: TransferTimes?,
        duration: Duration
    ) {
        (self.status, self.body) = (status, body)
        (date, retryAfter) = (headers.date, headers.retryAfter)
        (contentType, age) = (headers.contentType, headers.age)
        self.connectionReused = connectionReused
        self.version = version
        self.times = times
        self.duration = duration
    }
}

// SAFETY: libcurl writes one number, and its texts are static; this handle owns `words`.
extension EasyHandle {
    var localPort: UInt16 { UInt16(truncatingIfNeeded: long(CURLINFO_LOCAL_PORT)) }

    var connectionsOpened: Int { long(CURLINFO_NUM_CONNECTS) }

    var isReusing: Bool { wasSent && connectionsOpened == 0 }

    /// True if the connection was ready for the request, including TLS and proxy tunnel.
    var wasSent: Bool { time(CURLINFO_PRETRANSFER_TIME_T) > .zero }

    var times: TransferTimes {
        TransferTimes(
            connected: time(CURLINFO_CONNECT_TIME_T),
            secured: time(CURLINFO_APPCONNECT_TIME_T),
            firstOctet: time(CURLINFO_STARTTRANSFER_TIME_T)
        )
    }

    private func time(_ info: CURLINFO) -> Duration {
        var microseconds: curl_off_t = 0
        unsafe curl_easy_get_offset(easy, info, &microseconds)
        return .microseconds(microseconds)
    }

    /// `socketFailure` is the `errno` of a failed `socket` call, which libcurl does not record.
    func result(
        _ code: CURLcode,
        socketFailure: Int32,
        since start: Instant
    ) -> Result<HTTPReply, HTTPError> {
        guard code == CURLE_OK else {
            return .failure(received.fault ?? error(code, socketFailure))
        }
        return .success(
            HTTPReply(
                status: long(CURLINFO_RESPONSE_CODE),
                body: received.body,
                headers: received.headers,
                connectionReused: connectionsOpened == 0,
                version: version,
                times: wantsTimes ? times : nil,
                duration: start.duration(to: Clock.now)
            )
        )
    }

    private var version: String {
        switch long(CURLINFO_HTTP_VERSION) {
        case Int(CURL_HTTP_VERSION_1_0): "1.0"
        case Int(CURL_HTTP_VERSION_1_1): "1.1"
        case Int(CURL_HTTP_VERSION_2_0): "2"
        case Int(CURL_HTTP_VERSION_3): "3"
        default: ""
        }
    }

    func wasCutOff(_ code: CURLcode) -> Bool {
        Self.isEnd(code) && received.headers.octets == 0 && isReusing
    }

    private static func isEnd(_ code: CURLcode) -> Bool {
        switch code {
        // With HTTP/2, libcurl reports the end of the connection as a partial file.
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE: true
        default: false
        }
    }

    private func error(_ code: CURLcode, _ socketFailure: Int32) -> HTTPError {
        let tunnel = long(CURLINFO_HTTP_CONNECTCODE)
        if tunnel >= 300 { return .connect("the proxy answers HTTP \(tunnel)") }
        let text = unsafe String(cString: curl_easy_strerror(code))
        switch code {
        case CURLE_OPERATION_TIMEDOUT:
            return .timedOut(reused: isReusing)
        case CURLE_COULDNT_CONNECT, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY,
            CURLE_INTERFACE_FAILED, CURLE_NO_CONNECTION_AVAILABLE, CURLE_PROXY:
            let recorded = Int32(truncatingIfNeeded: long(CURLINFO_OS_ERRNO))
            let peer = transfer.map { $0.request.proxy ?? $0.request.server }
            return Self.connectError(socketFailure != 0 ? socketFailure : recorded, text, to: peer)
        case _ where Self.isEnd(code):
            guard received.headers.octets == 0 else { return .broken(text) }
            return wasSent ? .cutOff(reused: isReusing) : .connect(text, isOpen: true)
        case CURLE_SSL_CONNECT_ERROR:
            // The certificate is not the cause; perhaps the peer has closed the connection.
            return .connect(details ?? text, isOpen: true)
        case _ where Self.isHandshakeFailure(code):
            return .tls(details ?? text)
        case CURLE_UNSUPPORTED_PROTOCOL where localPort != 0,
            CURLE_BAD_FUNCTION_ARGUMENT where localPort != 0:
            // libcurl reports a missing or wrong status line as an invalid request. But libcurl has
            // opened a connection, so the request was valid.
            return .broken("the reply is not HTTP")
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL, CURLE_NOT_BUILT_IN,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ENGINE_NOTFOUND, CURLE_BAD_FUNCTION_ARGUMENT:
            return .invalidRequest(text)
        default:
            return .broken(text)
        }
    }

    nonisolated static func isHandshakeFailure(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_USE_SSL_FAILED:
            true
        default: false
        }
    }

    nonisolated static func connectError(
        _ cause: Int32,
        _ text: String,
        to peer: SocketAddress?
    ) -> HTTPError {
        guard cause != 0 else { return .connect(text) }
        if SocketError.isNoPort(cause, to: peer) { return .exhausted("\(SocketError.noPort)") }
        let isOurs = SocketError.system(call: "connect", code: cause).isShortage
        // ECONNRESET means that the TCP connection was open.
        return isOurs
            ? .exhausted(errorText(cause))
            : .connect(errorText(cause), isOpen: cause == ECONNRESET)
    }

    /// libcurl's message for a TLS error, without control characters of the peer's certificate.
    ///
    /// Messages of other errors may contain a secret URL.
    private var details: String? {
        let octets = unsafe words.prefix { $0 != 0 }.prefix(200).map { UInt8(bitPattern: $0) }
        guard !octets.isEmpty else { return nil }
        return String(
            decoding: octets.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 },
            as: UTF8.self
        )
    }

    private func long(_ info: CURLINFO) -> Int {
        var value = 0
        unsafe curl_easy_get_long(easy, info, &value)
        return value
    }
}

extension EasyHandle {
    /// True if the server, not this process, ended a new connection without a reply.
    func isUnanswered(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_OK, CURLE_ABORTED_BY_CALLBACK, CURLE_OPERATION_TIMEDOUT: false
        default: connectionsOpened > 0 && wasSent
        }
    }
}
