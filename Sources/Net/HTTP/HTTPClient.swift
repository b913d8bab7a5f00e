// SPDX-License-Identifier: Apache-2.0
private import CCurl

/// HTTP client on libcurl and the service loop, without threads or name resolution.
///
/// ``Limits`` and `EasyHandle+Options.swift` protect against malicious servers.
@ServiceLoop
package final class HTTPClient: HTTPTransport {
    package struct Limits: Sendable, Hashable {
        /// Maximum octets of a reply body, from 1 octet to 16 MiB.
        package var bodyOctets = 64 << 10

        /// Maximum octets of all headers and bodies being received; further replies fail.
        ///
        /// A provider can use at most half of the octets that no other provider uses.
        package var receivedOctets = 8 << 20

        /// Maximum octets of the headers of a reply; each line counts with 96 additional octets.
        ///
        /// Includes interim replies and trailers.
        package var headerOctets = 16 << 10

        /// Maximum connections per provider and certificate source; further requests wait.
        package var connections = 64

        package var connectionsPerServer = 32

        /// Maximum concurrent requests per HTTP/2 connection.
        package var requestsPerConnection = 1024

        /// Maximum idle connections; above this number, libcurl closes the oldest one.
        package var idleConnections = 32

        /// Time after which an idle connection is no longer reused.
        package var idleTime: Duration = .seconds(60)

        /// Maximum requests in flight; further requests fail.
        package var inFlight = 4096

        package init() {}
    }

    package let limits: Limits

    /// Number of requests in flight.
    private(set) var inFlight = 0

    /// Number of opened connections, including failed attempts; for tests.
    private(set) var connectionsOpened = 0

    private(set) var providers: [String: HTTPProvider] = [:]

    /// Provider of the latest request; checked before the dictionary, which needs a hash of the
    /// name.
    private var latest: (name: String, provider: HTTPProvider)?

    private let memory: ReplyMemory

    package init(limits: Limits = Limits()) {
        self.limits = limits
        memory = ReplyMemory(limit: limits.receivedOctets)
    }

    /// Loads libcurl from the disk, which blocks; returns the reason of a failure, or nil.
    package nonisolated static func load() -> String? {
        // SAFETY: the text is valid until the next call on this thread.
        unsafe curl_library_load().map { unsafe String(cString: $0) }
    }

    /// Initialises libcurl once per process; call this on a worker thread.
    ///
    /// A request that begins during the initialisation waits for its end.
    package nonisolated static func prepare() { ConnectionPool.initialiseOnce }

    @discardableResult
    package func send(
        _ request: consuming HTTPRequest,
        deadline: Instant,
        _ completion: @escaping Handler
    ) -> any RequestHandle {
        inFlight += 1
        let transfer = Transfer(request, of: self, until: deadline, completion)
        do throws(HTTPError) {
            try begin(transfer)
        } catch {
            // Uses a task, because the completion handler must run after `send` has returned.
            ServiceLoop.task { transfer.end(.failure(error)) }
        }
        return transfer
    }

    package func reset() {
        let old = providers.values.flatMap { $0.reset() }
        // Completion handlers may send new requests. Therefore the old requests end in a later
        // task, after all parts of the daemon have handled the network change.
        ServiceLoop.task {
            for pool in old { pool.abandonAll(.broken("the connections were dropped")) }
        }
    }

    private func provider(of request: HTTPRequest) -> HTTPProvider {
        if let latest, latest.name == request.provider { return latest.provider }
        if let provider = providers[request.provider] {
            latest = (request.provider, provider)
            return provider
        }
        let now = Clock.now
        providers = providers.filter { $0.value.lastUsed + limits.idleTime * 2 > now }
        let provider = HTTPProvider(limits, memory)
        providers[request.provider] = provider
        latest = (request.provider, provider)
        return provider
    }

    private func begin(_ transfer: Transfer) throws(HTTPError) {
        guard transfer.deadline > transfer.started else { throw .timedOut(reused: false) }
        guard inFlight <= limits.inFlight else {
            throw .exhausted("too many requests in flight")
        }
        let group = try provider(of: transfer.request)
            .group(for: transfer.request, now: transfer.started)
        let handle = try transfer.prepare(from: group.handles)
        try group.pool.add(transfer, on: handle)
    }

    /// Counts an ended transfer and releases its handle.
    func end(_ transfer: Transfer, _ result: Result<HTTPReply, HTTPError>) {
        inFlight -= 1
        connectionsOpened += transfer.connectionsOpened
        if case .failure = result { transfer.handle?.forget() }
        if let handle = transfer.handle {
            handle.forgetQuery()
            handle.received.begin()
            transfer.handles?.giveBack(handle)
        }
        transfer.handle = nil
        transfer.handles = nil
    }
}
