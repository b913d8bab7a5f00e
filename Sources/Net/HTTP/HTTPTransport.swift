// SPDX-License-Identifier: Apache-2.0

/// Swift protocol through which vendors and upstreams send HTTP requests.
@ServiceLoop
package protocol HTTPTransport: Sendable {
    typealias Handler = @ServiceLoop (Result<HTTPReply, HTTPError>) -> Void

    /// Sends `request`, and calls `completion` once: after `send` has returned, and by `deadline`.
    ///
    /// - Returns: a handle of the request. `cancel()` on this handle calls `completion` before it
    ///   returns.
    @discardableResult
    func send(
        _ request: consuming HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle

    /// Drops all connections, for example after a network change.
    ///
    /// In the next iteration of the service loop, requests in flight fail with `HTTPError.broken`.
    func reset()
}

@ServiceLoop
package protocol RequestHandle: Cancellable {
    /// True if the server may have received and billed the request.
    ///
    /// The value is final when the request has ended.
    var wasSent: Bool { get }

    /// Time at which the request was sent on the ready connection; nil before this time.
    var sentAt: Instant? { get }
}

extension RequestHandle {
    package var sentAt: Instant? { nil }
}

package struct HTTPRequest: Sendable, Hashable {
    /// Absolute URL; the host is used only for TLS and the `Host` header, and never resolved.
    package var url: String

    package var server: SocketAddress

    /// Name of the vendor or upstream, which has its own connections and limits of CPU and memory.
    package var provider = ""

    /// Body of a POST; nil for a GET.
    package var body: [UInt8]?

    package var headers: [String] = []

    /// PEM file that replaces the system's trusted certificates.
    package var certificateFile: String?

    package var version: HTTPVersion = .automatic

    /// HTTP proxy; proxies from environment variables are never used.
    ///
    /// The proxy opens a tunnel, unless the URL is `http` and its host is the address `server`.
    package var proxy: SocketAddress?

    /// True to open a new connection, because existing connections may be dead.
    ///
    /// If ``keepsSilentConnection`` is also true, each existing connection to the server is marked
    /// as possibly dead. A later reply on one of these connections removes its mark.
    package var wantsFreshConnection = false

    /// True to keep a silent connection until another connection of the provider gets a reply.
    ///
    /// A connection is silent if no data arrived in the second half of the wait for a reply. If
    /// this property is false, a silent connection is closed or replaced earlier:
    ///
    /// - at the deadline of the request, if the peer has acknowledged no segment since the
    ///   request was sent;
    /// - otherwise, over HTTP/2, when the server replies on a new connection (``HTTPProvider``).
    package var keepsSilentConnection = false

    /// True to send the request at most once; set for requests that may be billed.
    ///
    /// If a reused connection ends without a reply, the request fails with
    /// ``HTTPError/cutOff(reused:)``, and is not repeated. If the request times out, but data
    /// arrived on the reused connection during the request, the connection is not dead. Then the
    /// error is ``HTTPError/timedOut(reused:)`` with `reused` false.
    package var isSentOnce = false

    /// True if libcurl's handles may retain the query of the URL after the request.
    ///
    /// False if the query may contain a token, or differs from request to request.
    package var keepsURL = false

    package var wantsTimes = false

    package init(url: String, server: SocketAddress, body: [UInt8]? = nil) {
        self.url = url
        self.server = server
        self.body = body
    }

    /// Method and URL without parameter values.
    package var redacted: String { (body == nil ? "GET " : "POST ") + url.withoutParameterValues }
}

extension String {
    /// This URL with `…` instead of its parameter values, which may be secret.
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
    /// Time from the start of the request until the connection is open; zero if reused.
    package var connected: Duration

    /// Time from the start of the request until the TLS handshake ends; zero without a handshake.
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

    /// Time from the start of the request to the last octet of the reply.
    package var duration: Duration = .zero

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    /// True if the version is 1.0 or 1.1.
    ///
    /// Not `hasPrefix`, which takes longer than the comparison of short strings.
    package var isHTTP1: Bool { version == "1.1" || version == "1.0" }
}

package enum HTTPError: Error, Hashable {
    /// The deadline has passed; `reused` is true for a reused connection, which may be dead.
    case timedOut(reused: Bool)

    /// The connection failed before the request was sent.
    ///
    /// `isOpen` is true if the TCP connection was open, and ended before or in the TLS handshake.
    case connect(String, isOpen: Bool = false)

    /// The connection ended after the request was sent, and before the first octet of the reply.
    ///
    /// The cause may be the name in the request, because a firewall can end connections with
    /// certain names. `reused` is true for a reused connection; the server may have closed it
    /// before the request arrived.
    case cutOff(reused: Bool)

    /// TLS failed, for example because the certificate does not match.
    case tls(String)

    /// The reply was truncated or was not HTTP.
    case broken(String)

    /// This process reached a limit; the server is not at fault.
    case exhausted(String)

    case bodyTooLarge(limit: Int)

    case invalidRequest(String)

    case cancelled
}
