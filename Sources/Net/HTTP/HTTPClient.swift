// SPDX-License-Identifier: Apache-2.0
private import CCurl

/// Sends HTTP requests with libcurl, driven by the service loop: no thread, no look-up of names.
///
/// Connections are kept and shared: over HTTP/2, requests to one server and name are streams of one
/// connection.  Bounds and strictness are those of a client that talks to servers it was told to
/// use but need not trust: see ``Limits`` and `EasyHandle+Options.swift`.
@ServiceLoop
package final class HTTPClient: HTTPTransport {
    /// What a server may cost us.
    package struct Limits: Sendable, Hashable {
        /// Octets of a reply's body, 1…16 MiB.
        package var bodyOctets = 64 << 10

        /// Octets of the bodies of all replies that are being received; more fail.
        package var receivedOctets = 8 << 20

        /// Octets of all header lines of a reply, interim replies and trailers included.
        package var headerOctets = 16 << 10

        /// Open connections, for one set of trusted certificates and for a server and name; more
        /// requests wait for one.
        package var connections = 128
        package var connectionsPerServer = 32

        /// Requests that share a connection over HTTP/2, as far as the server lets them.
        package var requestsPerConnection = 1024

        /// Connections without work that are kept, and for how long.
        package var idleConnections = 32
        package var idleTime: Duration = .seconds(60)

        /// Requests in flight; further ones fail with ``HTTPError/exhausted(_:)``.
        package var inFlight = 4096

        package init() {}
    }

    /// The limits that all requests of this client obey.
    package let limits: Limits

    /// What it has done so far.
    package private(set) var statistics = HTTPStatistics()

    /// Connections and handles for requests that trust the same certificates, by their source; nil for
    /// requests without TLS.
    ///
    /// libcurl does not know what a connection was trusted for, so requests that trust other
    /// certificates must not find it, nor its TLS session.
    private var groups: [TrustSource?: Group] = [:]

    /// Octets of the reply bodies in flight, of all groups.
    private let memory = ReplyMemory()

    /// Connections that new requests may use, and handles that are ready for them.
    @ServiceLoop
    private final class Group {
        let pool: ConnectionPool
        let handles: EasyHandles

        init(_ limits: HTTPClient.Limits, _ memory: ReplyMemory, trusting store: TrustStore?) {
            pool = ConnectionPool(limits: limits)
            handles = EasyHandles(limits, memory, trusting: store)
        }
    }

    /// Makes a client without connections.
    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Loads and initialises libcurl, once a process, which takes milliseconds.
    ///
    /// The first request would do so, too; if one comes meanwhile, it waits.  For a thread that has
    /// nothing else to do.
    package nonisolated static func prepare() { ConnectionPool.initialiseOnce }

    @discardableResult
    package func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell
    ) -> any RequestHandle {
        statistics.requests += 1
        statistics.inFlight += 1
        let transfer = Transfer(until: deadline) { [self] transfer, result in
            end(transfer, result)
            tell(result)
        }
        do throws(HTTPError) {
            try begin(transfer, request)
        } catch {
            // Nobody is told before this has returned.
            ServiceLoop.task { transfer.end(.failure(error)) }
        }
        return transfer
    }

    package func reset() {
        let old = groups.values.map(\.pool)
        groups = [:]
        // The owners may send the requests again as soon as they are told, so not before all that is
        // to be done about the network has been done.
        ServiceLoop.task {
            for pool in old { pool.abandonAll(.broken("the connections were dropped")) }
        }
    }

    /// The connections and handles for `request`, new ones if other certificates are trusted now.
    ///
    /// Requests in flight end on the connections that they have.
    private func group(for request: HTTPRequest) throws(HTTPError) -> Group {
        let source = request.isSecure ? TrustSource(request.certificateFile) : nil
        var store: TrustStore?
        if let source {
            do throws(TLSError) {
                store = try TrustStores.shared.store(for: source)
            } catch {
                throw .invalidRequest("\(error)")
            }
        }
        if let group = groups[source], group.handles.trusted === store { return group }
        let group = Group(limits, memory, trusting: store)
        groups[source] = group
        return group
    }

    /// Has libcurl begin a transfer.
    private func begin(_ transfer: Transfer, _ request: HTTPRequest) throws(HTTPError) {
        guard transfer.deadline > transfer.started else { throw .timedOut(reused: false) }
        guard statistics.inFlight <= limits.inFlight else {
            throw .exhausted("too many requests in flight")
        }
        let group = try group(for: request)
        let kind = EasyHandle.Kind(request)
        let handle = try group.handles.take(for: kind)
        transfer.handle = handle
        transfer.handles = group.handles
        try handle.prepare(request, kind, time: transfer.started.duration(to: transfer.deadline))
        try group.pool.add(transfer, on: handle)
    }

    /// Counts how a transfer ended, and takes back its handle.
    private func end(_ transfer: Transfer, _ result: Result<HTTPReply, HTTPError>) {
        statistics.inFlight -= 1
        statistics.connectionsOpened += transfer.connectionsOpened
        switch result {
        case .success(let reply):
            statistics.replies += 1
            if reply.connectionReused { statistics.connectionsReused += 1 }
        case .failure(let error):
            statistics.failures[HTTPStatistics.Failure(error), default: 0] += 1
            // What became of it is no business of the next one.
            transfer.handle?.forget()
        }
        if let handle = transfer.handle {
            handle.forgetURL()
            handle.received.begin()
            transfer.handles?.giveBack(handle)
        }
        transfer.handle = nil
        transfer.handles = nil
    }
}
