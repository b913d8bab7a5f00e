// SPDX-License-Identifier: Apache-2.0

/// Connections and memory of one provider (vendor or upstream).
@ServiceLoop
final class HTTPProvider {
    private let memory: ReplyMemory.Share
    let meter = LoopMeter()

    /// One group for each source of trusted certificates: in a common group, libcurl would reuse a
    /// connection for a request that trusts other certificates.
    private var groups: [TrustSource?: Group] = [:]

    private var latest: Group?

    /// Second groups, for requests that need a new connection.
    ///
    /// Used while the current group has a suspect connection to the server of the request.
    private var candidates: [TrustSource?: Group] = [:]

    private var retired: [Retired] = []

    private struct Retired { weak var pool: ConnectionPool? }

    private let limits: HTTPClient.Limits
    private(set) var lastUsed = Clock.now

    @ServiceLoop
    final class Group {
        let source: TrustSource?
        let pool: ConnectionPool
        let handles: EasyHandles

        init(
            _ source: TrustSource?,
            _ limits: HTTPClient.Limits,
            _ memory: ReplyMemory.Share,
            _ meter: LoopMeter,
            trusting store: TrustStore?
        ) {
            self.source = source
            pool = ConnectionPool(limits: limits, metering: meter, isSecure: store != nil)
            handles = EasyHandles(limits, memory, meter, trusting: store)
        }
    }

    init(_ limits: HTTPClient.Limits, _ memory: ReplyMemory) {
        self.limits = limits
        self.memory = ReplyMemory.Share(of: memory)
    }

    /// Returns the connections and handles for `request`.
    ///
    /// While a connection to the server is silent or distrusted, a request that needs a new
    /// connection gets a second pool, because libcurl cannot exclude one connection from reuse. If
    /// the server replies in the second pool, and the old connection is still silent or distrusted,
    /// the second pool replaces the old pool. The second pool then has an open connection, so
    /// queries for other names need not wait for a handshake.
    ///
    /// - Throws: `HTTPError.broken` while the ``LoopBudget`` is exhausted;
    ///   `HTTPError.invalidRequest` for unreadable certificates.
    func group(
        for request: HTTPRequest,
        now: Instant = Clock.now
    ) throws(HTTPError) -> Group {
        guard !meter.isExhausted(at: now) else { throw ConnectionPool.overload }
        lastUsed = now
        let source = request.isSecure ? TrustSource(request.certificateFile) : nil
        var store: TrustStore?
        if let source {
            do throws(TLSError) {
                store = try TrustStores.shared.store(for: source)
            } catch {
                throw .invalidRequest("\(error)")
            }
        }
        let known = latest?.source == source ? latest : groups[source]
        if let known {
            let pool = known.pool
            if known.handles.trusted === store, !pool.isAbandoned {
                if request.wantsFreshConnection, pool.isSuspect(request.server) {
                    return candidate(source, store)
                }
                latest = known
                return known
            }
            retire(pool)
        }
        let group = Group(source, limits, memory, meter, trusting: store)
        groups[source] = group
        latest = group
        return group
    }

    private func candidate(_ source: TrustSource?, _ store: TrustStore?) -> Group {
        if let known = candidates[source] {
            if known.handles.trusted === store, !known.pool.isAbandoned {
                return known
            }
            retire(known.pool)
        }
        let group = Group(source, limits, memory, meter, trusting: store)
        candidates[source] = group
        group.pool.replied = { [weak self, weak group] server in
            guard let self, let group, candidates[source] === group else { return }
            candidates[source] = nil
            group.pool.replied = nil
            guard let current = groups[source], current.pool.isSuspect(server) else {
                return retire(group.pool)
            }
            retire(current.pool)
            groups[source] = group
            latest = group
        }
        return group
    }

    private func retire(_ pool: ConnectionPool) {
        retired.removeAll { $0.pool == nil }
        retired.append(Retired(pool: pool))
    }

    func replaceConnections() {
        for group in [groups.values, candidates.values].joined() { retire(group.pool) }
        (groups, latest, candidates) = ([:], nil, [:])
    }

    func reset() -> [ConnectionPool] {
        defer { (groups, latest, retired, candidates) = ([:], nil, [], [:]) }
        return [groups.values, candidates.values].joined().map(\.pool) + retired.compactMap(\.pool)
    }
}

final class ReplyMemory {
    private let limit: Int
    private var octets = 0

    init(limit: Int) { self.limit = limit }

    /// Part of `whole` that one provider uses; full if it is larger than the free part of `whole`.
    final class Share {
        private let whole: ReplyMemory

        var octets = 0 {
            didSet { whole.octets += octets - oldValue }
        }

        init(of whole: ReplyMemory) { self.whole = whole }

        var isFull: Bool { octets > whole.limit - whole.octets }

        func gain(_ received: Int) -> Bool {
            octets += received
            return !isFull
        }
    }
}
