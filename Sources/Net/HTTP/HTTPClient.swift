// SPDX-License-Identifier: Apache-2.0
private import CCurl

/// HTTP client on libcurl and the service loop, without threads or name resolution.
@ServiceLoop
package final class HTTPClient: HTTPTransport {
    package struct Limits: Sendable, Hashable {
        /// Maximum octets of a reply body.
        package var bodyOctets = 64 << 10

        /// Maximum octets of all headers and bodies being received.
        ///
        /// A provider gets at most half of the octets that the other providers leave free.
        package var receivedOctets = 8 << 20

        /// Maximum octets of headers, interim replies and trailers; 96 octets are added for each
        /// line.
        package var headerOctets = 16 << 10

        /// Maximum connections in each ``ConnectionPool``; further requests wait.
        package var connections = 64

        package var connectionsPerServer = 32

        package var requestsPerConnection = 1024

        package var idleConnections = 32

        package var idleTime: Duration = .seconds(60)

        /// Further requests fail.
        package var inFlight = 4096

        package init() {}
    }

    package let limits: Limits

    private(set) var inFlight = 0

    private(set) var connectionsOpened = 0

    private(set) var providers: [String: HTTPProvider] = [:]

    private var latest: (name: String, provider: HTTPProvider)?

    private let memory: ReplyMemory

    package init(limits: Limits = Limits()) {
        self.limits = limits
        memory = ReplyMemory(limit: limits.receivedOctets)
    }

    /// Loads libcurl, which blocks on the disk; returns the reason of a failure, or nil.
    package nonisolated static func load() -> String? {
        // SAFETY: the text is valid until the next call on this thread.
        unsafe curl_library_load().map { unsafe String(cString: $0) }
    }

    /// Initialises libcurl once per process; call this on a worker thread.
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
            // The completion handler must run after `send` has returned.
            ServiceLoop.task { transfer.end(.failure(error)) }
        }
        return transfer
    }

    package func replaceConnections(of provider: String) {
        providers[provider]?.replaceConnections()
    }

    package func reset(only provider: String?) {
        let chosen = provider.map { [providers[$0]].compactMap(\.self) } ?? Array(providers.values)
        let old = chosen.flatMap { $0.reset() }
        // Completion handlers may send new requests, so they run after all parts of the daemon have
        // handled the network change.
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
