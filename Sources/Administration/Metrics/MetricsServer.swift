// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Logging
internal import Net

/// HTTP/1.1 server of `/metrics` on one address or Unix socket.
///
/// Above the limit of connections, the server closes the oldest connection that has no request in
/// progress. If all connections have a request, the server closes the oldest connection.
@ServiceLoop
final class MetricsServer {
    struct Limits: Sendable {
        var connections = 16

        /// Maximum number of tasks; higher than `connections`, because the task of a closed
        /// connection can still wait in the ``ManagementQueue``.
        var tasks: Int { 2 * connections }

        /// Longer than the usual intervals of scrapers.
        var idle = Duration.seconds(90)

        var arrival = Duration.seconds(5)
        var departure = Duration.seconds(5)
    }

    private static let ignoredOctets = 1 << 20
    let place: MetricsPlace
    private(set) var listener: StreamListener

    /// Nil for an address.
    var reopening: Task<Void, Never>?

    /// Nil if the socket is open.
    var fault: SocketError?

    private let logger: Logger
    private let limits: Limits
    private let renderer: ScrapeRenderer
    private var clients: [Client] = []
    private var tasks = 0

    /// Continuation of ``run()`` while ``tasks`` is at its limit.
    private var accepting: CheckedContinuation<Void, Never>?

    private final class Client {
        let connection: StreamConnection
        var isServed = false
        init(_ connection: StreamConnection) { self.connection = connection }
    }

    init(
        _ listener: StreamListener,
        at place: MetricsPlace,
        logger: Logger,
        limits: Limits = Limits(),
        _ renderer: ScrapeRenderer
    ) {
        self.listener = listener
        self.place = place
        self.logger = logger
        self.limits = limits
        self.renderer = renderer
    }

    var address: SocketAddress? { listener.address }

    func run() async {
        do throws(SocketError) {
            try await serve(listener)
        } catch .closed {
        } catch {
            logger.error("metrics: stopped serving at \(place): \(error)")
        }
    }

    func serve(_ listener: StreamListener) async throws(SocketError) {
        self.listener = listener
        fault = nil
        listener.onPause = { [logger, place] error in
            logger.error(
                "metrics: cannot accept a connection at \(place): \(error); retrying",
                metadata: ["listener": "\(place)"]
            )
        }
        while true {
            // Until a task ends, new connections wait in the backlog of the kernel.
            if tasks >= limits.tasks { await withCheckedContinuation { accepting = $0 } }
            admit(try await listener.accept())
        }
    }

    func stop() {
        reopening?.cancel()
        listener.close()
        for client in clients { client.connection.close() }
    }

    // MARK: - One client

    private func admit(_ connection: StreamConnection) {
        if clients.count >= limits.connections {
            let oldest = clients.firstIndex { !$0.isServed } ?? clients.startIndex
            clients.remove(at: oldest).connection.close()
        }
        let client = Client(connection)
        clients.append(client)
        tasks += 1
        ServiceLoop.task { [self] in
            do throws(SocketError) {
                try await serve(client)
            } catch {
                logger.debug("metrics: connection closed: \(error)")
            }
            connection.close()
            clients.removeAll { $0 === client }
            tasks -= 1
            accepting?.resume()
            accepting = nil
        }
    }

    private func serve(_ client: Client) async throws(SocketError) {
        let connection = client.connection
        var octets: [UInt8] = []
        var arrival: Instant?
        while true {
            if let end = ScrapeRequest.end(of: octets) {
                client.isServed = true
                let request = await renderer.request(octets[..<end])
                octets.removeFirst(end)
                arrival = nil
                try await connection.write(
                    await reply(to: request),
                    deadline: Clock.now + limits.departure
                )
                client.isServed = false
                guard request.keepsConnection else { return try await part(from: connection) }
                await Task.yield()
                continue
            }
            let room = ScrapeRequest.maximumOctets - octets.count
            guard room > 0 else {
                try await connection.write(
                    Self.head("431 Request Header Fields Too Large", isLast: true),
                    deadline: Clock.now + limits.departure
                )
                return try await part(from: connection)
            }
            if !octets.isEmpty, arrival == nil { arrival = Clock.now + limits.arrival }
            let more = try await connection.read(
                upTo: room,
                deadline: arrival ?? Clock.now + limits.idle
            )
            guard !more.isEmpty else { return }
            octets += more
        }
    }

    /// Waits until the client has received its last reply.
    ///
    /// If the server closed a connection with unread input, TCP could discard the reply (RFC 9112
    /// §9.6).
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
        switch request.decision {
        case .metrics(let form):
            let body = await renderer.body(form)
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

    /// Returns a response head without `Date`, because the clock may be wrong (RFC 9110 §6.6.1).
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
