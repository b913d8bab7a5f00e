// SPDX-License-Identifier: Apache-2.0
internal import Configuration
package import Control
internal import DNSCache
internal import DNSWire
internal import Fleet
internal import Frontend
internal import HTTPDNS
package import Net
internal import Resolver
internal import Upstream

@ServiceLoop
package final class ControlHandler: ControlHandling {
    unowned let daemon: any ManagedDaemon
    let clocks: Clocks
    private let start: Instant
    private var zero = CounterSnapshot()
    private var zeroAt: Instant
    let resolveCounts = ResolveCounts()
    var isProving = false

    /// May block on the disk.
    private let readResolvConf: @Sendable ([SocketAddress]) -> ResolvConf

    package init(
        _ daemon: any ManagedDaemon,
        readResolvConf: @escaping @Sendable ([SocketAddress]) -> ResolvConf = {
            ResolvConf(pointingAt: $0)
        }
    ) {
        self.daemon = daemon
        self.readResolvConf = readResolvConf
        clocks = daemon.state.clocks
        start = clocks.now()
        zeroAt = start
    }

    package func renameRoutes(_ name: (String) -> String) { zero.renameRoutes(name) }

    // MARK: - Reading

    package func status() async throws(MethodError) -> StatusReply {
        let addresses = daemon.state.listeners.map(\.address)
        let resolvConf = await offLoop { [readResolvConf] in readResolvConf(addresses) }
        return StatusReply(
            daemon.state,
            resolvConf,
            uptimeSeconds: seconds(since: start),
            now: clocks.now()
        )
    }

    package func stats(reset: Bool) async throws(MethodError) -> StatsReply {
        let state = daemon.state
        let now = CounterSnapshot(state)
        let reply = now.reply(since: zero, seconds: seconds(since: zeroAt), state)
        if reset {
            zero = now
            zeroAt = clocks.now()
            for vendor in state.vendors { vendor.client.forgetCosts() }
        }
        return reply
    }

    package func stats(every interval: Duration, _ send: @escaping Send<StatsReply>)
        async throws
    {
        // The times follow a fixed schedule; otherwise, the duration of `send` would extend the
        // intervals.
        var next = clocks.now()
        while true {
            try await send(try await stats(reset: false))
            next = max(next + interval, clocks.now())
            try await clocks.sleep(next)
        }
    }

    package func lookup(_ request: LookupRequest) async throws(MethodError) -> LookupReply {
        let state = daemon.state
        let name = try Self.name(request.name, "name")
        var walk = CacheWalk(state.cache, .name(name, try request.type.map(Self.type)))
        var entries: [CacheEntry] = []
        while let found = walk.next(now: clocks.now()) {
            entries += found
            if !walk.isAtEnd { await clocks.pause() }
        }
        return LookupReply(
            entries: entries.inOrder.map { entry in
                CachedEntry(entry, state.resolver.origins)
            }
        )
    }

    package func topCost(_ count: Int) async throws(MethodError) -> TopReply<NameCost> {
        let state = daemon.state
        return TopReply(
            costliest: count,
            total: CounterSnapshot(state).billableNames(since: zero),
            sinceSeconds: seconds(since: zeroAt),
            state
        )
    }

    func bill(isMonthly: Bool) -> BillReply {
        let state = daemon.state
        return BillReply(
            state,
            stats: CounterSnapshot(state).vendors(since: zero),
            isMonthly: isMonthly,
            seconds: seconds(since: zeroAt),
            counts: resolveCounts.known(state)
        )
    }

    package func topSlow(_ count: Int) async throws(MethodError) -> TopReply<QueryEvent> {
        let list = recentQueries()
        return await offLoop { list.slowest(count) }
    }

    package func topQueries(
        _ kind: TopRequest.Kind,
        count: Int
    ) async throws(MethodError) -> TopReply<QueryCount> {
        let list = recentQueries()
        return await offLoop { list.most(kind, count: count) }
    }

    package func watch(_ request: WatchRequest, _ send: @escaping Send<WatchReply>)
        async throws
    {
        // Holds no `DaemonState`: a reference would keep old settings in memory after a reload.
        let filter = try QueryFilter(request, names: sourceNames + ["hosts"])
        let accelerator = daemon.state.accelerator
        try await accelerator.suspended { try await watch(filter, request.count, send) }
    }

    private func watch(
        _ filter: QueryFilter,
        _ count: Int?,
        _ send: @escaping Send<WatchReply>
    ) async throws {
        var reader = RecentReader(startingAt: daemon.state.recent)
        var left = count ?? .max
        // The empty reply confirms the start of `watch`.
        try await send(WatchReply(queries: []))
        while left > 0 {
            try await clocks.sleep(clocks.now() + RecentReader.interval)
            let news = reader.news(of: daemon.state.recent)
            let reply = RecentList(news, clocks, daemon.state.resolver.origins)
                .events(passing: filter, most: min(left, RecentReader.mostEvents))
            guard !reply.queries.isEmpty || reply.missed > 0 else { continue }
            left -= reply.queries.count
            try await send(reply)
        }
    }

    private func recentQueries() -> RecentList {
        let state = daemon.state
        state.accelerator.collect()
        return RecentList(RecentReader.all(of: state.recent), clocks, state.resolver.origins)
    }

    package func version() async throws(MethodError) -> VersionReply { LibraryVersions.reply }

    // MARK: - Changing

    package func flush(
        _ scope: FlushRequest.Scope,
        soft: Bool,
        fleet: Bool
    ) async throws(MethodError) -> FlushReply {
        let state = daemon.state
        if fleet { try await flushFleet(scope, soft: soft, state) }
        let selection: AnswerCache.Selection
        switch scope {
        case .all: selection = .all
        case .negative: selection = .negative
        case .stale: selection = .stale
        case .source(let source): selection = try self.selection(of: source)
        case .tree(let name): selection = .tree(try Self.name(name, "tree"))
        case .name(let name, let type):
            selection = .name(try Self.name(name, "name"), try type.map(Self.type))
        }
        state.resolver.vendors.forget()
        let (cache, action) = (state.cache, soft ? CacheSweep.Action.markStale : .remove)
        let now = clocks.now()
        var count = await CacheSweep(cache, selection, action).finish(clocks)
        if daemon.isLoadingSnapshot {
            // After the first sweep, the snapshot that is being loaded can restore further
            // answers. A second sweep also flushes these answers.
            await daemon.snapshotLoaded()
            count += await CacheSweep(cache, selection, action, storedUpTo: now).finish(clocks)
        }
        return soft ? FlushReply(removed: 0, marked: count) : FlushReply(removed: count)
    }

    private func flushFleet(
        _ scope: FlushRequest.Scope,
        soft: Bool,
        _ state: DaemonState
    ) async throws(MethodError) {
        guard let fleet = state.resolver.vendors.fleet?.fleet else {
            throw .failed(reason: "the settings have no section `fleet`")
        }
        let flushed: FleetFlush.Scope
        switch scope {
        case .tree(let name): flushed = .tree(try Self.name(name, "tree"))
        case .name(let name, _): flushed = .name(try Self.name(name, "name"))
        default: flushed = .all
        }
        let isDone = await withCheckedContinuation { continuation in
            fleet.flush(flushed, isSoft: soft, Completion { continuation.resume(returning: $0) })
        }
        guard isDone else {
            let why = fleet.state.lastError.map { ": \($0)" } ?? ""
            throw .failed(
                reason: "the fleet was not flushed, because the Redis server is not used\(why)"
            )
        }
    }

    package func reload() async throws(MethodError) -> ReloadReply {
        guard let reply = await daemon.reload() else {
            throw .failed(reason: "the daemon is stopping, and has cancelled the reload")
        }
        return reply
    }

    package func check(_ request: CheckRequest) async throws(MethodError) -> ReloadReply {
        guard let text = request.text else { return await daemon.check(nil) }
        var reply = await daemon.check((text, request.file ?? "text"))
        reply.problems = reply.problems.map { $0.describesSecret ? $0.withoutReason : $0 }
        return reply
    }

    // MARK: - Arguments

    private func selection(of source: String) throws(MethodError) -> AnswerCache.Selection {
        let names = sourceNames
        if names.contains(source) {
            return .servers(daemon.state.resolver.origins.numbers(of: source))
        }
        switch source {
        case "vendor": return .source(.vendor)
        case "upstream": return .source(.upstream)
        default:
            let hint =
                DidYouMean.hint(for: source, among: names + ["vendor", "upstream"])
                ?? "valid: \((names + ["vendor", "upstream"]).joined(separator: ", "))"
            throw .notFound(what: "source `\(source.shortened)` (\(hint))")
        }
    }

    private var sourceNames: [String] {
        let state = daemon.state
        return state.vendors.map(\.client.name) + state.upstreams.map(\.name)
    }

    nonisolated static func name(_ text: String, _ argument: String) throws(MethodError) -> Name {
        do throws(NameTextError) {
            return try Name(text)
        } catch {
            throw .invalidArgument(argument: argument, reason: "\(error)")
        }
    }

    nonisolated static func type(_ text: String) throws(MethodError) -> RecordType {
        guard let type = RecordType(text) else {
            throw .invalidArgument(
                argument: "type",
                reason: "unknown record type; use a name such as A, or TYPE65"
            )
        }
        return type
    }

    private func seconds(since instant: Instant) -> Int {
        Int((clocks.now() - instant).components.seconds)
    }
}

extension SettingsComplaint {
    /// Copy without text that depends on the content of secret files.
    fileprivate var withoutReason: SettingsComplaint {
        SettingsComplaint(
            file: file,
            line: line,
            column: column,
            message: "the secret is not valid",
            hint: "to see the reason, run `httpdnsd --config FILE --check` as root"
        )
    }
}
