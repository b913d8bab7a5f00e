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

        /// Octets of all header lines of a reply, interim replies and trailers included.
        package var headerOctets = 16 << 10

        /// Time for connecting, the TLS handshake included; the deadline may end it sooner.
        package var connectTime: Duration = .milliseconds(800)

        /// Open connections, in all and a server and name; more requests wait for one.
        package var connections = 128
        package var connectionsPerServer = 32

        /// Requests that share a connection over HTTP/2, as far as the server lets them.
        package var requestsPerConnection = 1024

        /// Connections without work that are kept, and for how long.
        package var idleConnections = 32
        package var idleTime: Duration = .seconds(60)

        /// Requests at one time; more fail at once.
        package var inFlight = 4096

        package init() {}
    }

    /// The limits that all requests of this client obey.
    package let limits: Limits

    /// What it has done so far.
    package private(set) var statistics = HTTPStatistics()

    /// The connections that new requests may use.
    private lazy var pool = ConnectionPool(limits: limits)

    /// Handles that are ready for a new request.
    private let handles: EasyHandles

    /// Makes a client without connections.
    package init(limits: Limits = Limits()) {
        self.limits = limits
        handles = EasyHandles(limits)
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
    ) -> any Cancellable {
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
        let old = pool
        pool = ConnectionPool(limits: limits)
        // Its owners may send the requests again as soon as they are told, so not before all that is
        // to be done about the network has been done.
        ServiceLoop.task { old.abandonAll(.broken("the connections were dropped")) }
    }

    /// Has libcurl begin a transfer.
    private func begin(_ transfer: Transfer, _ request: HTTPRequest) throws(HTTPError) {
        guard transfer.deadline > transfer.started else { throw .timedOut(reused: false) }
        guard statistics.inFlight <= limits.inFlight else {
            throw .connect("too many requests in flight")
        }
        let kind = EasyHandle.Kind(request)
        let handle = try handles.take(for: kind)
        transfer.handle = handle
        try handle.prepare(request, kind, time: transfer.started.duration(to: transfer.deadline))
        try pool.add(transfer, on: handle)
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
            handles.giveBack(handle)
        }
        transfer.handle = nil
    }
}
