// SPDX-License-Identifier: Apache-2.0

/// Swift protocol through which vendors and upstreams send HTTP requests.
@ServiceLoop
package protocol HTTPTransport: Sendable {
    typealias Handler = @ServiceLoop (Result<HTTPReply, HTTPError>) -> Void

    /// Sends `request`, and calls `completion` once: after `send` has returned, and by `deadline`.
    ///
    /// - Returns: a handle; its `cancel()` calls `completion` before it returns.
    @discardableResult
    func send(
        _ request: consuming HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle

    /// Drops the connections of one ``HTTPRequest/provider``, or of all providers (nil).
    ///
    /// Requests in flight then fail with `HTTPError.broken`.
    func reset(only provider: String?)

    /// Lets later requests of a provider use new connections; requests in flight continue.
    func replaceConnections(of provider: String)
}

extension HTTPTransport {
    package func reset() { reset(only: nil) }
}

@ServiceLoop
package protocol RequestHandle: Cancellable {
    /// True if the server may have received and billed the request.
    ///
    /// The value does not change after the end of the request.
    var wasSent: Bool { get }

    var sentAt: Instant? { get }

    /// True if the request was sent on a connection that it opened.
    var isOnNewConnection: Bool { get }

    /// Reports that the reply was not usable, perhaps because of the host behind the connection.
    ///
    /// Has an effect only in the completion handler. The connection is closed. If other requests
    /// use it, it is closed later, or replaced by a later request that needs a new connection.
    func distrustConnection()

    /// Reports that the reply was not usable, perhaps because of the host behind the connection,
    /// and perhaps because of the request.
    ///
    /// Has an effect only in the completion handler. The connection stays in use. When a later
    /// request opens a new connection, the new connection replaces this connection, unless this
    /// connection has delivered another reply.
    func doubtConnection()
}

extension RequestHandle {
    package var sentAt: Instant? { nil }

    package var isOnNewConnection: Bool { false }

    package func distrustConnection() {}

    package func doubtConnection() {}
}

package struct HTTPRequest: Sendable, Hashable {
    /// The host is used only for TLS and the `Host` header, and never resolved.
    package var url: String

    package var server: SocketAddress

    /// Vendor or upstream, which has its own connections and limits of CPU and memory.
    package var provider = ""

    /// Body of a POST; nil for a GET.
    package var body: [UInt8]?

    package var headers: [String] = []

    /// PEM file; nil for the system's certificates.
    package var certificateFile: String?

    package var version: HTTPVersion = .automatic

    /// Address of an HTTP proxy.
    ///
    /// The proxy forwards an `http` URL if its host is the address ``server``. It tunnels all other
    /// URLs.
    package var proxy: SocketAddress?

    /// True to open a new connection, because existing connections may be dead.
    package var wantsFreshConnection = false

    /// True to keep a silent connection until another connection of the provider gets a reply.
    package var keepsSilentConnection = false

    /// True to send the request at most once, because it may be billed.
    ///
    /// If a reused connection ends without a reply, the error is ``HTTPError/cutOff(reused:)``. If
    /// data arrived on a reused connection before the deadline, the error is
    /// ``HTTPError/timedOut(reused:)`` with `reused` false.
    package var isSentOnce = false

    /// True if handles may retain the query of the URL.
    ///
    /// Must be false if the query contains a token, or if the query varies.
    package var keepsURL = false

    package var wantsTimes = false

    package init(url: String, server: SocketAddress, body: [UInt8]? = nil) {
        self.url = url
        self.server = server
        self.body = body
    }

    package var redacted: String { (body == nil ? "GET " : "POST ") + url.withoutParameterValues }
}

extension String {
    /// Parameter values may be secret.
    package var withoutParameterValues: String {
        let parts = split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count > 1 else { return self }
        let shown = parts[1].split(separator: "&").map { parameter in
            guard let sign = parameter.firstIndex(of: "=") else { return "…" }
            return parameter[...sign] + "…"
        }
        return parts[0] + "?" + shown.joined(separator: "&")
    }
}

package struct TransferTimes: Sendable, Hashable {
    /// Time from the start of the request to the open connection; zero for a reused connection.
    package var connected: Duration

    /// Time from the start of the request to the end of the TLS handshake; zero without one.
    package var secured: Duration

    package var firstOctet: Duration
}

package enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
    /// HTTP/2 if TLS negotiates it, otherwise HTTP/1.1.
    case automatic = "auto"
    case http1 = "1.1"
    case http2 = "2"
    case http3 = "3"
}

package struct HTTPReply: Sendable, Hashable {
    package var status: Int
    package var body: [UInt8]

    /// Header values, not parsed.
    package var date: String?
    package var retryAfter: String?
    package var contentType: String?
    package var age: String?

    package var connectionReused = false

    package var version = ""

    package var times: TransferTimes?

    package var duration: Duration = .zero

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// Not `hasPrefix`, which takes longer than the comparison of short strings.
    package var isHTTP1: Bool { version == "1.1" || version == "1.0" }
}

package enum HTTPError: Error, Hashable {
    /// `reused` is true for a reused connection, which may be dead.
    case timedOut(reused: Bool)

    /// The connection failed before the request was sent.
    ///
    /// `isOpen` is true if the TCP connection was open, and ended before or in the TLS handshake.
    case connect(String, isOpen: Bool = false)

    /// The connection ended after the request was sent, and before the first octet of the reply.
    ///
    /// If `reused` is true, the server may have closed the connection before the request arrived.
    case cutOff(reused: Bool)

    case tls(String)

    /// The reply was truncated or was not HTTP.
    case broken(String)

    /// This process reached a limit; the server is not at fault.
    case exhausted(String)

    case bodyTooLarge(limit: Int)

    case invalidRequest(String)

    case cancelled
}
