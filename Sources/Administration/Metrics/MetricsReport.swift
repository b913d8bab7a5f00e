// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
package import Frontend
internal import HTTPDNS
package import Net
internal import Resolver

package struct MetricsReport: Sendable {
    var stats: StatsReply
    var vendors: [VendorStatus] = []
    var clients: [(name: String, numbers: VendorStatistics)] = []
    var upstreams: [UpstreamStatus] = []
    var fleet = FleetStatus()
    package var queries = QuerySums()
    var latencies: [(wait: String, help: String, sum: LatencySum)] = []
    var life = Life()
    var versions = VersionReply(version: "", swift: "", libcurl: "", openssl: "", libyaml: "")
}

extension MetricsReport {
    package struct Life: Sendable {
        /// Seconds since 1970.
        package var startSeconds: Int64 = 0

        package var appliedReloads: UInt64 = 0
        package var failedReloads: UInt64 = 0
        package var reloadProblem: String?
        package var unloggedQueries: UInt64 = 0
        package init() {}
    }

    @ServiceLoop
    package init(_ state: DaemonState, _ life: Life) {
        let snapshot = CounterSnapshot(state)
        let now = state.clocks.now()
        stats = snapshot.reply(since: CounterSnapshot(), seconds: 0, state)
        clients = state.vendors.map { ($0.settings.name, $0.client.statistics) }
        vendors = zip(state.vendors, clients).map {
            VendorStatus($0.settings, $1.numbers, now: now)
        }
        upstreams = state.upstreams.map { UpstreamStatus($0, state.upstreamHealth, now: now) }
        fleet = FleetStatus(state.resolver.vendors.fleet, state.clocks)
        queries = snapshot.queries
        latencies = [
            (
                "client", "Time from a client's query to its reply, all queries",
                snapshot.hits.adding(snapshot.missLatency)
            ),
            ("cache", "Time from a client's query to its reply, cache hits", snapshot.hits),
            ("vendor", "Duration of vendor lookups", snapshot.vendorLatency),
            ("upstream", "Duration of upstream queries", snapshot.upstreamLatency),
        ]
        self.life = life
        versions = LibraryVersions.reply
    }

    /// Returns the text of all metrics; takes about 1 ms, too long for the service loop.
    func octets(_ form: Exposition.Form) -> [UInt8] {
        var text = Exposition(form)
        writeQueries(to: &text)
        writeCache(to: &text)
        writeVendors(to: &text)
        writeVendorServers(to: &text)
        writeUpstreams(to: &text)
        writeFleet(to: &text)
        writeDaemon(to: &text)
        return text.octets
    }
}

// MARK: - Parts

extension MetricsReport {
    typealias Number = (
        name: String, kind: Exposition.Kind, help: String, value: any CustomStringConvertible
    )

    static func write(_ numbers: [Number], to text: inout Exposition) {
        for number in numbers {
            text.single("httpdnsd_\(number.name)", number.kind, number.help, number.value)
        }
    }

    private func writeQueries(to text: inout Exposition) {
        text.family("httpdnsd_queries", .counter, "Client queries by source, RCODE and transport") {
            text in
            queries.forEach { source, outcome, transport, count in
                text.add(
                    ["source": "\(source)", "rcode": outcome.name, "transport": "\(transport)"],
                    count
                )
            }
        }
        for latency in latencies {
            text.family("httpdnsd_\(latency.wait)_latency_seconds", .histogram, latency.help) {
                $0.add(LatencyBuckets(latency.sum))
            }
        }
        let packets = { stats.packets[$0] ?? 0 }
        let (misses, refresh) = (stats.misses, stats.refresh)
        let numbers: [Number] = [
            (
                "ignored_messages", .counter, "Received messages that are not queries",
                packets("ignored")
            ),
            (
                "truncated_replies", .counter, "Replies sent with TC set",
                packets("truncated-replies")
            ),
            (
                "unsent_replies", .counter, "Replies that the kernel rejected",
                packets("unsent-replies")
            ),
            (
                "unlogged_queries", .counter,
                "Queries missing in the query log because they arrived too fast",
                life.unloggedQueries
            ),
            (
                "early_fallbacks", .counter,
                "Queries that the fallback answered before the vendors",
                stats.queries.earlyFallback
            ),
            ("misses_in_flight", .gauge, "Queries being resolved", misses.inFlight),
            ("misses_merged", .counter, "Misses that joined a query in flight", misses.merged),
            (
                "misses_dropped", .counter, "Misses dropped because too many were pending",
                misses.dropped
            ),
            ("refreshes_started", .counter, "Started refreshes of cached answers", refresh.started),
        ]
        Self.write(numbers, to: &text)
        text.family(
            "httpdnsd_refreshes",
            .counter,
            "Refreshes by result; over-budget: not started because of the limit per minute; "
                + "held: not started because no vendor accepted calls"
        ) {
            $0.add(["result": "done"], refresh.done)
            $0.add(["result": "failed"], refresh.failed)
            $0.add(["result": "over-budget"], refresh.overBudget)
            $0.add(["result": "held"], refresh.held)
        }
    }

    private func writeCache(to text: inout Exposition) {
        let cache = stats.cache
        var numbers: [Number] = [
            ("cache_hits", .counter, "Queries answered from the cache", cache.hits),
            ("cache_misses", .counter, "Queries without a fresh cache entry", cache.misses),
            ("cache_insertions", .counter, "Answers stored in the cache", cache.insertions),
            ("cache_evictions", .counter, "Entries evicted to free memory", cache.evictions),
            ("cache_expired", .counter, "Entries removed after their stale window", cache.expired),
            ("cache_entries", .gauge, "Entries in the cache", cache.entries),
            (
                "cache_negative_entries", .gauge, "Entries without records (NXDOMAIN, NODATA)",
                cache.negativeEntries
            ),
            ("cache_used_bytes", .gauge, "Memory used by entries", cache.octets),
            ("cache_limit_bytes", .gauge, "Memory limit of entries", cache.limitOctets),
            ("cache_index_bytes", .gauge, "Memory used by the index", cache.indexOctets),
        ]
        if let file = cache.snapshot {
            numbers += [
                (
                    "cache_snapshot_entries", .gauge, "Entries in the cache snapshot file",
                    file.entries
                ),
                ("cache_snapshot_bytes", .gauge, "Size of the cache snapshot file", file.octets),
                (
                    "cache_snapshot_failing", .gauge,
                    "1 if the last access to the cache snapshot file failed",
                    file.lastError != nil ? 1 : 0
                ),
            ]
        }
        if let age = cache.snapshot?.ageSeconds {
            numbers.append(
                ("cache_snapshot_age_seconds", .gauge, "Age of the cache snapshot file", age)
            )
        }
        if let kernel = stats.acceleration {
            numbers += [
                (
                    "acceleration_active", .gauge,
                    "1 if a BPF program in the kernel answers queries from the cache",
                    kernel.state == .on ? 1 : 0
                ),
                (
                    "acceleration_answers", .counter, "Queries answered by the kernel",
                    kernel.answers
                ),
                (
                    "acceleration_entries", .gauge, "Cache entries copied to the kernel",
                    kernel.entries
                ),
            ]
        }
        Self.write(numbers, to: &text)
    }

    private func writeDaemon(to text: inout Exposition) {
        let problems = vendors.compactMap(\.problem).count + upstreams.compactMap(\.problem).count
        let network = stats.network
        var numbers: [Number] = [
            ("problems", .gauge, "Vendors and upstreams with a problem", problems),
            ("network_changes", .counter, "Detected network changes", network.changes),
            ("network_resumes", .counter, "Detected resumes from system sleep", network.resumes),
            (
                "last_reload_failed", .gauge,
                "1 if the last reload failed and the old configuration is in force",
                life.reloadProblem != nil ? 1 : 0
            ),
        ]
        if let log = stats.log {
            numbers.append(
                (
                    "log_dropped_lines", .counter,
                    "Log lines dropped because the log reader was too slow", log.dropped
                )
            )
        }
        if let age = network.lastAgeSeconds {
            numbers.append(
                (
                    "network_change_age_seconds", .gauge,
                    "Time since the last network change or resume from sleep", age
                )
            )
        }
        Self.write(numbers, to: &text)
        text.family("httpdnsd_reloads", .counter, "Configuration reloads by result") {
            $0.add(["result": "applied"], life.appliedReloads)
            $0.add(["result": "failed"], life.failedReloads)
        }
        text.family("httpdnsd_build", .info, "Versions of the daemon and its libraries") {
            $0.add(
                [
                    "version": versions.version, "swift": versions.swift,
                    "libcurl": versions.libcurl, "openssl": versions.openssl,
                    "libyaml": versions.libyaml,
                ],
                1
            )
        }
        let process = stats.process
        text.single("process_cpu_seconds", .counter, "User and system CPU time", process.cpuSeconds)
        text.single("process_resident_memory_bytes", .gauge, "Resident memory", process.rssOctets)
        text.single("process_open_fds", .gauge, "Open file descriptors", process.descriptors)
        text.single("process_threads", .gauge, "Number of threads", process.threads)
        text.single(
            "process_start_time_seconds",
            .gauge,
            "Start time since the epoch",
            Int(life.startSeconds)
        )
    }
}
