// SPDX-License-Identifier: Apache-2.0
internal import Logging
internal import Net

/// Serves `/metrics` over HTTP/1.1 at one place.
///
/// A client costs at most the octets of one head and one reply.  One that is silent or slow is cut off
/// by a deadline; of too many, the one that came first has to go, so that nobody can keep others out by
/// staying.
@ServiceLoop
final class MetricsServer {
    /// What clients may use up.
    struct Limits: Sendable {
        /// Clients at the same time.
        var connections = 16

        /// How long a client may be silent between requests: longer than scrapers pause.
        var idle = Duration.seconds(90)

        /// How long a request may take to arrive, from its first octet to its last.
        var arrival = Duration.seconds(5)

        /// How long a client may take to accept a reply.
        var departure = Duration.seconds(5)
    }

    /// What of a refused request is read and thrown away.
    private static let ignoredOctets = 1 << 20

    /// Where it serves.
    let place: MetricsPlace

    private let listener: StreamListener
    private let logger: Logger
    private let limits: Limits

    /// What is served, as it is now.
    private let report: @ServiceLoop () -> MetricsReport

    /// The clients, in the order in which they came; at most `limits.connections`.
    private var clients: [StreamConnection] = []

    /// Makes a server for a listener at `place`, which does nothing until it is run.
    init(
        _ listener: StreamListener,
        at place: MetricsPlace,
        logger: Logger,
        limits: Limits = Limits(),
        _ report: @escaping @ServiceLoop () -> MetricsReport
    ) {
        self.listener = listener
        self.place = place
        self.logger = logger
        self.limits = limits
        self.report = report
    }

    /// Where it really listens; nil for a Unix socket.
    var address: SocketAddress? { listener.localAddress }

    /// Serves clients until ``stop()``.
    func run() async {
        listener.onPause = { [logger, place] error in
            logger.error(
                "metrics: cannot accept at \(place) (\(error)), trying again",
                metadata: ["listener": "\(place)"]
            )
        }
        do throws(SocketError) {
            while true { admit(try await listener.accept()) }
        } catch .closed {
            // It was stopped.
        } catch {
            logger.error("metrics: \(error), serving no more at \(place)")
        }
    }

    /// Serves nobody any more.
    func stop() {
        listener.close()
        for client in clients { client.close() }
    }

    // MARK: - One client

    private func admit(_ client: StreamConnection) {
        if clients.count >= limits.connections { clients.removeFirst().close() }
        clients.append(client)
        ServiceLoop.task { [self] in
            do throws(SocketError) {
                try await serve(client)
            } catch {
                logger.debug("metrics: client cut off: \(error)")
            }
            client.close()
            clients.removeAll { $0 === client }
        }
    }

    /// Answers one request after the other.
    private func serve(_ client: StreamConnection) async throws(SocketError) {
        var octets: [UInt8] = []
        var arrival: ContinuousClock.Instant?
        while true {
            if let end = ScrapeRequest.end(of: octets) {
                let request = ScrapeRequest(octets[..<end])
                octets.removeFirst(end)
                arrival = nil
                try await client.write(
                    await reply(to: request),
                    deadline: Clock.now + limits.departure
                )
                guard request.keepsConnection else { return try await part(from: client) }
                // Who sends requests without pause shares the loop with everybody else.
                await Task.yield()
                continue
            }
            let room = ScrapeRequest.maximumOctets - octets.count
            guard room > 0 else {
                try await client.write(
                    Self.head("431 Request Header Fields Too Large", isLast: true),
                    deadline: Clock.now + limits.departure
                )
                return try await part(from: client)
            }
            if !octets.isEmpty, arrival == nil { arrival = Clock.now + limits.arrival }
            let more = try await client.read(
                upTo: room,
                deadline: arrival ?? Clock.now + limits.idle
            )
            guard !more.isEmpty else { return }
            octets += more
        }
    }

    /// Waits until a client has taken its last reply: to close while something of what it sent is
    /// unread would reset the connection, and take the reply away (RFC 9112 §9.6).
    private func part(from client: StreamConnection) async throws(SocketError) {
        try client.shutdownWrite()
        let deadline = Clock.now + limits.departure
        var rest = Self.ignoredOctets
        while rest > 0 {
            let more = try await client.read(upTo: rest, deadline: deadline)
            guard !more.isEmpty else { return }
            rest -= more.count
        }
    }

    // MARK: - Replies

    private func reply(to request: ScrapeRequest) async -> [UInt8] {
        let isLast = !request.keepsConnection
        switch request.verdict {
        case .metrics(let form):
            let body = await report().octets(form)
            let head = Self.head("200 OK", isLast: isLast, type: form.contentType, body.count)
            return request.isHead ? head : head + body
        case .malformed: return Self.head("400 Bad Request", isLast: isLast)
        case .notFound: return Self.head("404 Not Found", isLast: isLast)
        case .notAllowed:
            return Self.head("405 Method Not Allowed", isLast: isLast, more: "Allow: GET, HEAD\r\n")
        case .hasBody: return Self.head("413 Content Too Large", isLast: isLast)
        case .wrongVersion: return Self.head("505 HTTP Version Not Supported", isLast: isLast)
        }
    }

    /// The head of a reply (RFC 9112 §4); without a date, as this machine may not know the time yet.
    private static func head(
        _ status: String,
        isLast: Bool,
        more: String = "",
        type: String? = nil,
        _ count: Int = 0
    ) -> [UInt8] {
        let contentType = type.map { "Content-Type: \($0)\r\n" } ?? ""
        let close = isLast ? "Connection: close\r\n" : ""
        return Array(
            "HTTP/1.1 \(status)\r\n\(contentType)Content-Length: \(count)\r\n\(more)\(close)\r\n"
                .utf8
        )
    }
}
