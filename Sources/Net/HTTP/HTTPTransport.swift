// SPDX-License-Identifier: Apache-2.0

/// Sends HTTP requests: the seam between vendors and the network.
///
/// `HTTPClient` is the real one; tests script another, and nothing above this room knows which.
@ServiceLoop
package protocol HTTPTransport: Sendable {
    /// What `send` is to tell: the whole reply, whatever its status code, or why there is none.
    typealias Tell = @ServiceLoop (Result<HTTPReply, HTTPError>) -> Void

    /// Sends `request`, and gives up at `deadline`.
    ///
    /// - Parameter tell: called once, after this has returned.
    /// - Returns: a handle that cancels the request; `tell` is then called with
    ///   `HTTPError.cancelled` before `cancel()` returns.
    @discardableResult
    func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell
    ) -> any RequestHandle

    /// Drops all connections, as after a change of the network.
    ///
    /// Requests in flight fail with `HTTPError.broken` in the next turn of the loop, so that their
    /// owners can send them again; what is sent from now on goes over new connections.
    func reset()
}

/// A request in flight, which can be cancelled.
@ServiceLoop
package protocol RequestHandle: Cancellable {
    /// Whether the server may have received any of the request; final once it has ended.
    ///
    /// False while the connection, the tunnel of a proxy or the TLS handshake is not complete, and
    /// while the request waits for a connection: no server can charge for it.
    var wasSent: Bool { get }
}

/// One request, made of facts only: no handle, no connection.
package struct HTTPRequest: Sendable, Hashable {
    /// Absolute URL; its host names the peer for TLS and the `Host` header, never for a look-up.
    package var url: String

    /// The server that is connected to, whatever the URL's host says.
    package var server: SocketAddress

    /// The body of a POST; none makes it a GET.
    package var body: [UInt8]?

    /// Further header lines, as in `Accept: application/dns-json`.
    package var headers: [String] = []

    /// File of PEM certificates to trust instead of the system's store.
    package var certificateFile: String?

    /// The versions of HTTP that may be spoken.
    package var version: HTTPVersion = .automatic

    /// An HTTP proxy; the environment's are never used.
    ///
    /// It is asked to CONNECT to `server`, except for URLs that need neither TLS nor a name: those
    /// it is asked to forward.
    package var proxy: SocketAddress?

    /// Whether an old connection is suspected of being dead, so that a new one must be opened.
    package var wantsFreshConnection = false

    /// Whether the reply is to tell how long its parts took.
    package var wantsTimes = false

    package init(url: String, server: SocketAddress, body: [UInt8]? = nil) {
        self.url = url
        self.server = server
        self.body = body
    }

    /// Method and URL, without the values of parameters: any of them may be a secret or be signed.
    package var redacted: String {
        let parts = url.split(separator: "?", maxSplits: 1)
        var text = (body == nil ? "GET " : "POST ") + (parts.first ?? "")
        guard parts.count > 1 else { return text }
        let names = parts[1].split(separator: "&").map { $0.prefix { $0 != "=" } + "=…" }
        text += "?" + names.joined(separator: "&")
        return text
    }
}

/// How long the parts of a transfer took, each from its beginning.
package struct TransferTimes: Sendable, Hashable {
    /// Until there was a connection; zero if there was one.
    package var connected: Duration

    /// Until TLS was ready on it; zero without TLS, or if it was.
    package var secured: Duration

    /// Until the first octet of the reply came.
    package var firstOctet: Duration
}

/// The versions of HTTP that a request may use, as in the setting `http:`.
package enum HTTPVersion: String, Sendable, Hashable, CaseIterable {
    /// HTTP/2 where TLS negotiates it, else 1.1.
    case automatic = "auto"
    case http1 = "1.1"
    case http2 = "2"
    case http3 = "3"
}

/// What came back: any status code is a reply, a broken transfer is an `HTTPError`.
package struct HTTPReply: Sendable, Hashable {
    package var status: Int
    package var body: [UInt8]

    /// The value of the `Date` header, not interpreted.
    package var date: String?

    /// The value of the `Retry-After` header, not interpreted.
    package var retryAfter: String?

    /// The value of the `Content-Type` header, not interpreted.
    package var contentType: String?

    /// The value of the `Age` header, not interpreted.
    package var age: String?

    /// Whether an already open connection carried it.
    package var connectionReused = false

    /// The version of HTTP that was spoken, as `1.1` or `2`.
    package var version = ""

    /// How long its parts took, if the request wanted to know.
    package var times: TransferTimes?

    /// From the first octet of the request's set-up to the last one of the reply.
    package var duration: Duration = .zero

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }
}

/// Why a transfer gave no reply.
package enum HTTPError: Error, Hashable {
    /// The deadline passed; `reused` tells whether an old connection may be to blame.
    case timedOut(reused: Bool)

    /// No connection: refused, unreachable, reset before the first octet.
    case connect(String)

    /// The handshake failed, or the certificate is not the name's.
    case tls(String)

    /// The reply broke off or was not HTTP.
    case broken(String)

    /// A limit of this process was reached; it says nothing about the server.
    case exhausted(String)

    /// The body exceeded the limit while it was being received.
    case bodyTooLarge(limit: Int)

    /// The request itself cannot be sent (a URL that cannot be parsed, a file that cannot be read).
    case invalidRequest(String)

    /// Whoever sent the request called it off.
    case cancelled
}
