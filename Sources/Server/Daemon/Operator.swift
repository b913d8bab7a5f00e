// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSCache
internal import DNSWire
internal import Glibc
internal import HTTPDNS
internal import Net
internal import Resolver
internal import Upstream

/// What the verbs of `httpdnsctl` do and show.
@ServiceLoop
final class Operator: ControlHandling {
    private unowned let daemon: Daemon
    private let start = Clock.now

    /// The counters as they were when somebody last asked to start from zero.
    private var zero = Snapshot()
    private var zeroAt = Clock.now

    /// An operator of `daemon`, which outlives it.
    init(_ daemon: Daemon) {
        self.daemon = daemon
    }

    // MARK: - Verbs

    func status() async throws(MethodError) -> StatusReply {
        let parts = daemon.parts
        let vendors = parts.assembly.vendors.map { VendorStatus($0.settings, $0.client) }
        let upstreams = parts.assembly.upstreams.map { UpstreamStatus($0, now: Clock.now) }
        var problems: [String] = []
        for vendor in vendors where vendor.state != .up && vendor.state != .paused {
            problems.append("vendor \(vendor.name) does not answer: \(vendor.lastError ?? "")")
        }
        for upstream in upstreams where upstream.state != .up {
            problems.append("upstream \(upstream.name): \(upstream.lastError ?? "")")
        }
        var reply = StatusReply(
            state: problems.isEmpty ? .ready : .degraded,
            version: Product.version,
            pid: Int(getpid()),
            uptimeSeconds: Self.seconds(since: start)
        )
        reply.listeners = parts.listeners.flatMap { listener in
            ["udp", "tcp"].map { transport in
                ListenerStatus(
                    address: "\(listener.address)",
                    transport: transport,
                    origin: "settings"
                )
            }
        }
        reply.vendors = vendors
        reply.upstreams = upstreams
        let cache = parts.assembly.cache.numbers
        reply.cache = CacheUsage(
            entries: cache.entries,
            octets: cache.octets,
            limitOctets: cache.limitOctets
        )
        reply.resolvConf = ResolvConf(pointingAt: parts.listeners.map(\.address))
        reply.problems = problems
        return reply
    }

    func stats(reset: Bool) async throws(MethodError) -> StatsReply {
        let now = Snapshot(daemon.parts)
        let reply = now.reply(since: zero, seconds: Self.seconds(since: zeroAt), daemon.parts)
        if reset {
            zero = now
            zeroAt = Clock.now
        }
        return reply
    }

    func flush(_ scope: FlushRequest.Scope) async throws(MethodError) -> FlushReply {
        let selection: AnswerCache.Selection
        switch scope {
        case .all: selection = .all
        case .negative: selection = .negative
        case .tree(let name): selection = .tree(try Self.name(name, "tree"))
        case .name(let name, let type):
            selection = .name(try Self.name(name, "name"), try type.map(Self.type))
        }
        daemon.parts.assembly.resolver.vendors.forget()
        return FlushReply(removed: daemon.parts.assembly.cache.remove(selection, now: Clock.now))
    }

    func lookup(_ request: LookupRequest) async throws(MethodError) -> LookupReply {
        let assembly = daemon.parts.assembly
        let entries = assembly.cache.entries(
            named: try Self.name(request.name, "name"),
            type: try request.type.map(Self.type),
            now: Clock.now
        )
        return LookupReply(
            entries: entries.map { entry in
                CachedEntry(entry, origin: assembly.resolver.origins.name(entry.server))
            }
        )
    }

    func version() async throws(MethodError) -> VersionReply {
        LibraryVersions.reply
    }

    // MARK: - Arguments

    private static func name(_ text: String, _ argument: String) throws(MethodError) -> Name {
        do throws(NameTextError) {
            return try Name(text)
        } catch {
            throw .invalidArgument(argument: argument, reason: "\(error)")
        }
    }

    private static func type(_ text: String) throws(MethodError) -> RecordType {
        guard let type = RecordType(text) else {
            throw .invalidArgument(
                argument: "type",
                reason: "no record type has this name; try A or TYPE65"
            )
        }
        return type
    }

    private static func seconds(since instant: ContinuousClock.Instant) -> Int {
        Int((Clock.now - instant).components.seconds)
    }
}

// MARK: - Replies

extension VendorStatus {
    /// A vendor is down when it rests as a whole, or the last call to every server failed, and
    /// degraded when that to the current one did.
    @ServiceLoop
    fileprivate init(_ settings: VendorSettings, _ client: VendorClient) {
        self.init(
            name: settings.name,
            kind: settings.account.kind.rawValue,
            channel: settings.account.channel
        )
        let statistics = client.statistics
        calls = statistics.calls
        billableCalls = statistics.billable
        clockSkewSeconds = statistics.clockSkew.map { Int($0.components.seconds) }
        let now = Clock.now
        servers = statistics.servers.map { VendorServer($0, now: now) }
        let isCurrentDown = servers.contains { $0.current && $0.state == .down }
        switch statistics.state {
        case .paused: state = .paused
        case .refused, .limited: state = .down
        case .overBudget: state = .degraded
        case .open:
            state =
                servers.allSatisfy { $0.state == .down } ? .down : isCurrentDown ? .degraded : .up
        }
    }

    /// The latest error of the current server.
    fileprivate var lastError: String? { servers.first { $0.current }?.lastError }
}

extension VendorServer {
    fileprivate init(_ server: ServerStatistics, now: ContinuousClock.Instant) {
        self.init(address: "\(server.address)", current: server.isCurrent)
        let isResting = server.limitedUntil.map { now < $0 } ?? false
        state = server.failuresInRow > 0 || isResting ? .down : .up
        calls = server.tries
        failures = server.failures
        latencyMedian = server.medianLatency.map(milliseconds)
        lastError = server.lastError.map { "\($0)" }
        lastErrorAgeSeconds = server.lastErrorAt.map { Int((now - $0).components.seconds) }
    }
}

extension UpstreamStatus {
    @ServiceLoop
    fileprivate init(_ upstream: any Forwarding, now: ContinuousClock.Instant) {
        self.init(name: upstream.name, url: upstream.url, protected: upstream.isProtected)
        let numbers = upstream.numbers
        state = numbers.consecutiveFailures > 2 ? .down : .up
        calls = numbers.queries
        failures = numbers.failures.values.reduce(0, +)
        latencyMedian = upstream.latency.median.map(milliseconds)
        lastError = numbers.lastError.map { "\($0)" }
        lastErrorAgeSeconds = numbers.lastErrorAt.map { Int((now - $0).components.seconds) }
    }
}

/// A duration as the control protocol gives latencies.
private func milliseconds(_ duration: Duration) -> Double {
    let parts = duration.components
    let microseconds = parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000
    return Double(microseconds) / 1_000
}

extension CachedEntry {
    /// - Parameter origin: who answered and at which address, as `Origins` has it.
    fileprivate init(_ entry: CacheEntry, origin: String) {
        let message = try? Message(parsing: entry.message)
        let records = (message?.answers ?? []) + (message?.authorities ?? [])
        let parts = origin.split(separator: "/", maxSplits: 1).map(String.init)
        self.init(
            name: "\(entry.name)",
            type: "\(entry.type)",
            rcode: entry.rcode == .noError && entry.isNegative
                ? "nodata" : "\(entry.rcode)".lowercased(),
            source: entry.source == .local ? "local" : parts.first ?? "",
            server: parts.count > 1 ? parts[1] : "",
            ageSeconds: Int(clamping: entry.age),
            ttlSeconds: Int(clamping: entry.remaining),
            stale: entry.remaining == 0,
            hits: UInt64(entry.hits),
            variant: entry.variant.text,
            records: records.map { "\($0)" }
        )
    }
}

extension AnswerVariant {
    /// The variant as `lookup` shows it: the bits that the client must have set, or `any`.
    fileprivate var text: String {
        if self == .any { return "any" }
        return "do=\(rawValue & 1) cd=\(rawValue >> 1 & 1)"
    }
}

extension ResolvConf {
    /// What resolv.conf(5) says, and whether its first server is one of ours.
    fileprivate init(pointingAt addresses: [SocketAddress]) {
        self.init()
        guard let octets = try? RegularFile("/etc/resolv.conf").read(atMost: 64 << 10) else {
            return
        }
        for line in String(decoding: octets, as: UTF8.self).split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            if words.count >= 2, words[0] == "nameserver" { nameservers.append(String(words[1])) }
        }
        guard let first = nameservers.first.flatMap({ SocketAddress($0, defaultPort: 53) }) else {
            return
        }
        pointsHere = addresses.contains { address in
            address.port == first.port
                && (address.octets == first.octets || address.octets.allSatisfy { $0 == 0 })
        }
    }
}
