// SPDX-License-Identifier: Apache-2.0

/// Interface through which vendors and upstreams send HTTP requests.
///
/// ``HTTPClient`` implements it; tests use a scripted transport.
@ServiceLoop
package protocol HTTPTransport: Sendable {
    /// Completion handler; receives the complete reply with any status code, or the error.
    typealias Completion = @ServiceLoop (Result<HTTPReply, HTTPError>) -> Void

    /// Sends `request` and fails at `deadline`.
    ///
    /// - Parameter completion: the completion handler, called once, after `send` has returned.
    /// - Returns: a handle that cancels the request; `cancel()` calls `completion` with
    ///   `HTTPError.cancelled` before it returns.
    @discardableResult
    func send(
        _ request: HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Completion
    ) -> any RequestHandle

    /// Drops all connections, for example after a network change.
    ///
    /// Requests in flight fail with `HTTPError.broken` in the next turn of the loop, so that
    /// callers can retry them. Later requests use new connections.
    func reset()
}

/// Cancellable request in flight.
@ServiceLoop
package protocol RequestHandle: Cancellable {
    /// True if the server may have received any part of the request; final once the request has
    /// ended.
    ///
    /// False until connection, proxy tunnel and TLS handshake are complete. Until then no server
    /// can charge for the request.
    var wasSent: Bool { get }
}

/// HTTP request as a plain value.
package struct HTTPRequest: Sendable, Hashable {
    /// Absolute URL; its host is used for TLS and the `Host` header and is never resolved.
    package var url: String

    /// Server to connect to, independent of the URL's host.
    package var server: SocketAddress

    /// Configured upstream or vendor that has the server.
    ///
    /// Each provider has its own connections and a share of the client's memory.
    package var provider = ""

    /// Body of a POST; nil for a GET.
    package var body: [UInt8]?

    /// Additional header lines, such as `Accept: application/dns-json`.
    package var headers: [String] = []

    /// PEM file with trusted certificates that replaces the system's store.
    package var certificateFile: String?

    /// Allowed HTTP versions.
    package var version: HTTPVersion = .automatic

    /// HTTP proxy; proxies in the environment are never used.
    ///
    /// A URL without TLS is forwarded if its host is `server`; for all others the proxy is sent
    /// CONNECT.
    package var proxy: SocketAddress?

    /// True to open a new connection, because an open one may be dead.
    package var wantsFreshConnection = false

    /// True if the reply must include its ``TransferTimes``.
    package var wantsTimes = false

    package init(url: String, server: SocketAddress, body: [UInt8]? = nil) {
        self.url = url
        self.server = server
        self.body = body
    }

    /// Method and URL without parameter values, each of which may be a secret or a signature.
    package var redacted: String {
        let parts = url.split(separator: "?", maxSplits: 1)
        var text = (body == nil ? "GET " : "POST ") + (parts.first ?? "")
        guard parts.count > 1 else { return text }
        let names = parts[1].split(separator: "&").map { $0.prefix { $0 != "=" } + "=…" }
        text += "?" + names.joined(separator: "&")
        return text
    }
}

/// Durations of the phases of a transfer, each measured from its start.
package struct TransferTimes: Sendable, Hashable {
    /// Until the connection was established; zero if it was reused.
    package var connected: Duration

    /// Until the TLS handshake was complete; zero without TLS or on a reused connection.
    package var secured: Duration

    /// Until the first octet of the reply.
    package var firstOctet: Duration
}

/// HTTP versions that a request may use; values of the setting `http:`.
package enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
    /// HTTP/2 if TLS negotiates it, otherwise 1.1.
    case automatic = "auto"
    case http1 = "1.1"
    case http2 = "2"
    case http3 = "3"
}

/// HTTP reply with any status code.
package struct HTTPReply: Sendable, Hashable {
    package var status: Int
    package var body: [UInt8]

    /// Unparsed value of the `Date` header.
    package var date: String?

    /// Unparsed value of the `Retry-After` header.
    package var retryAfter: String?

    /// Unparsed value of the `Content-Type` header.
    package var contentType: String?

    /// Unparsed value of the `Age` header.
    package var age: String?

    /// True if the request was sent on a reused connection.
    package var connectionReused = false

    /// HTTP version of the reply, such as `1.1` or `2`.
    package var version = ""

    /// Durations of the phases, if the request wanted them.
    package var times: TransferTimes?

    /// Time from the start of the request to the last octet of the reply.
    package var duration: Duration = .zero

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// Failure of an HTTP transfer.
package enum HTTPError: Error, Hashable {
    /// The deadline passed; `reused` is true if a reused connection, possibly dead, carried the
    /// request.
    case timedOut(reused: Bool)

    /// No connection was established, or it ended before the first octet of the reply.
    case connect(String)

    /// The TLS handshake failed, or the certificate does not match the name.
    case tls(String)

    /// The reply was truncated or was not HTTP.
    case broken(String)

    /// A limit of this process was reached; the server is not at fault.
    case exhausted(String)

    /// The body exceeded the limit while it was being received.
    case bodyTooLarge(limit: Int)

    /// The request is invalid, for example its URL or certificate file.
    case invalidRequest(String)

    case cancelled
}
