// SPDX-License-Identifier: Apache-2.0
private import CCurl

/// Sends HTTP requests with libcurl, driven by the service loop: no thread, no look-up of names.
///
/// Connections are kept and shared: over HTTP/2, requests to one server and name are streams of one
/// connection.  Bounds and strictness are those of a client that talks to servers it was told to
/// use but need not trust: see ``Limits`` and the table in `Transfer+Options.swift`.
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
    private let handles = EasyHandles()

    /// Makes a client without connections.
    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Loads and initialises libcurl, once a process, which takes milliseconds.
    ///
    /// The first request would do so, too; if one comes meanwhile, it waits.  For a thread that has
    /// nothing else to do.
    package nonisolated static func prepare() { ConnectionPool.initialiseOnce }

    /// Sends `request` and returns the whole reply, whatever its status code.
    @ServiceLoop
    package func send(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> HTTPReply {
        statistics.requests += 1
        statistics.inFlight += 1
        defer { statistics.inFlight -= 1 }
        do throws(HTTPError) {
            let transfer = try begin(request, deadline: deadline)
            defer { end(transfer) }
            // Held until the end: a pool that was replaced lives as long as its last request.
            let pool = pool
            try pool.add(transfer)
            switch await transfer.waiter.wait(until: deadline) {
            case .ready: break
            case .timedOut: pool.abandon(transfer, .timedOut(reused: transfer.isReusing))
            case .cancelled, .closed: pool.abandon(transfer, .cancelled)
            }
            let reply = try transfer.result()
            statistics.replies += 1
            if reply.connectionReused { statistics.connectionsReused += 1 }
            return reply
        } catch {
            statistics.failures[HTTPStatistics.Failure(error), default: 0] += 1
            throw error
        }
    }

    /// Drops all connections, as after a change of the network.
    ///
    /// Requests in flight fail with `HTTPError.broken`, so that their owners can send them again.
    package func reset() {
        let old = pool
        pool = ConnectionPool(limits: limits)
        old.abandonAll(.broken("the connections were dropped"))
    }

    /// Makes a request into a transfer, which must be ended by ``end(_:)``.
    private func begin(
        _ request: HTTPRequest,
        deadline: ContinuousClock.Instant
    ) throws(HTTPError) -> Transfer {
        let now = Clock.now
        guard !Task.isCancelled else { throw .cancelled }
        guard deadline > now else { throw .timedOut(reused: false) }
        guard statistics.inFlight <= limits.inFlight else {
            throw .connect("too many requests in flight")
        }
        let transfer = Transfer(on: try handles.take(), limits: limits, started: now)
        do throws(HTTPError) {
            try transfer.prepare(request, until: deadline)
        } catch {
            end(transfer)
            throw error
        }
        return transfer
    }

    /// Gives back what a transfer used, which is in no pool.
    private func end(_ transfer: Transfer) {
        statistics.connectionsOpened += transfer.connectionsOpened
        transfer.release()
        handles.giveBack(transfer.handle)
    }
}

/// libcurl's handles, used again and again: making one costs more than a request over loopback.
@ServiceLoop
final class EasyHandles {
    /// One handle of libcurl, freed with its last owner.
    // SAFETY: made and used on the loop only, freed once, by `deinit`.
    @safe
    @ServiceLoop
    final class Handle {
        let easy: UnsafeMutableRawPointer

        /// Where libcurl writes what went wrong.
        let words: UnsafeMutableBufferPointer<CChar>

        fileprivate init?() {
            guard let made = unsafe curl_easy_init() else { return nil }
            unsafe easy = made
            unsafe words = .allocate(capacity: Int(CURL_ERROR_SIZE))
            unsafe words.initialize(repeating: 0)
        }

        isolated deinit {
            unsafe curl_easy_cleanup(easy)
            unsafe words.deallocate()
        }
    }

    /// Handles kept for later; more are freed.
    static let maximumIdle = 64

    private var idle: [Handle] = []

    /// A handle with all options at their defaults.
    func take() throws(HTTPError) -> Handle {
        if let handle = idle.popLast() { return handle }
        guard let handle = Handle() else { throw .invalidRequest("libcurl is out of memory") }
        return handle
    }

    /// Takes back a handle that is in no pool.
    func giveBack(_ handle: Handle) {
        guard idle.count < Self.maximumIdle else { return }
        // SAFETY: in no multi handle; keeps caches, forgets every pointer it was given.
        unsafe curl_easy_reset(handle.easy)
        idle.append(handle)
    }
}
