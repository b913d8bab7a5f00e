// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import HTTPDNS
internal import Net

/// All that is counted, to be written as metrics.
///
/// The same numbers as `stats` and `status` show, but since the start: `stats --reset` is no concern of
/// those who look at rates.
struct MetricsReport: Sendable {
    /// Every counter of `stats`, but for what is here in finer grains.
    var stats: StatsReply

    /// How the vendors and upstreams are doing, and what their clients count besides.
    var vendors: [VendorStatus] = []
    var clients: [(name: String, numbers: VendorStatistics)] = []
    var upstreams: [UpstreamStatus] = []

    /// The queries of clients.
    var queries = QuerySums()

    /// How long answers took, by what they waited for.
    var latencies: [(wait: String, help: String, sum: LatencySum)] = []

    /// What has happened to the daemon itself.
    var life = Life()

    /// Versions, by what they are of.
    var versions = VersionReply(version: "", swift: "", libcurl: "", openssl: "", libyaml: "")
}

extension MetricsReport {
    /// What has happened to the daemon.
    struct Life: Sendable {
        /// When it was started, in seconds since 1970.
        var startSeconds: Int64 = 0

        /// Reloads that put settings in force, and those that kept the old ones.
        var appliedReloads: UInt64 = 0
        var failedReloads: UInt64 = 0

        /// The first problem of the last reload, if that kept the old settings.
        var reloadProblem: String?

        /// Queries that the log of queries missed.
        var unloggedQueries: UInt64 = 0
    }

    /// Everything as it is now.
    @ServiceLoop
    init(_ parts: Daemon.Parts, _ life: Life) {
        let snapshot = Snapshot(parts)
        let now = parts.assembly.clocks.now()
        stats = snapshot.reply(since: Snapshot(), seconds: 0, parts)
        clients = parts.assembly.vendors.map { ($0.settings.name, $0.client.statistics) }
        vendors = zip(parts.assembly.vendors, clients).map {
            VendorStatus($0.settings, $1.numbers, now: now)
        }
        upstreams = parts.assembly.upstreams.map {
            UpstreamStatus($0, parts.assembly.upstreamHealth, now: now)
        }
        queries = snapshot.queries
        latencies = [
            (
                "client", "From a client's query to its reply, all queries.",
                snapshot.hits.adding(snapshot.missLatency)
            ),
            ("cache", "From a client's query to its reply from the cache.", snapshot.hits),
            ("vendor", "Look-ups of vendors.", snapshot.vendorLatency),
            ("upstream", "Queries of upstream resolvers.", snapshot.upstreamLatency),
        ]
        self.life = life
        versions = LibraryVersions.reply
    }

    /// The text, as it is sent.
    ///
    /// Not of the loop: it takes about a millisecond, in which others are answered.
    @concurrent
    func octets(_ form: Exposition.Form) async -> [UInt8] {
        var text = Exposition(form)
        writeQueries(to: &text)
        writeCache(to: &text)
        writeVendors(to: &text)
        writeVendorServers(to: &text)
        writeUpstreams(to: &text)
        writeDaemon(to: &text)
        return text.octets
    }
}

// MARK: - Parts

extension MetricsReport {
    /// A metric without labels; its name stands behind `httpdnsd_`.
    private typealias Number = (
        name: String, kind: Exposition.Kind, help: String, value: any MetricValue
    )

    private static func write(_ numbers: [Number], to text: inout Exposition) {
        for number in numbers {
            text.single("httpdnsd_\(number.name)", number.kind, number.help, number.value)
        }
    }

    private func writeQueries(to text: inout Exposition) {
        text.family("httpdnsd_queries", .counter, "Queries of clients, each in one cell.") { text in
            queries.forEach { source, outcome, transport, count in
                text.add(
                    [
                        "source": "\(source)", "rcode": outcome.name, "transport": "\(transport)",
                    ],
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
            ("ignored_messages", .counter, "Messages that are no queries.", packets("ignored")),
            (
                "truncated_replies", .counter, "Replies that did not fit.",
                packets("truncated-replies")
            ),
            (
                "unsent_replies", .counter, "Replies the kernel did not take.",
                packets("unsent-replies")
            ),
            (
                "unlogged_queries", .counter, "Queries too fast for log.queries.",
                life.unloggedQueries
            ),
            ("misses_in_flight", .gauge, "Being resolved now.", misses.inFlight),
            ("misses_merged", .counter, "Misses that joined one in flight.", misses.merged),
            ("misses_dropped", .counter, "Misses given up, being too many.", misses.dropped),
            ("refreshes_started", .counter, "Answers asked for anew in time.", refresh.started),
        ]
        Self.write(numbers, to: &text)
        text.family("httpdnsd_refreshes", .counter, "What became of them, or of the wish.") {
            $0.add(["result": "done"], refresh.done)
            $0.add(["result": "failed"], refresh.failed)
            $0.add(["result": "over-budget"], refresh.overBudget)
            $0.add(["result": "held"], refresh.held)
        }
    }

    private func writeCache(to text: inout Exposition) {
        let cache = stats.cache
        var numbers: [Number] = [
            ("cache_hits", .counter, "Questions the cache answered.", cache.hits),
            ("cache_misses", .counter, "Questions it could not answer.", cache.misses),
            ("cache_insertions", .counter, "Answers put in.", cache.insertions),
            ("cache_evictions", .counter, "Answers thrown out to make room.", cache.evictions),
            ("cache_expired", .counter, "Answers too old even to be stale.", cache.expired),
            ("cache_entries", .gauge, "Answers held.", cache.entries),
            ("cache_negative_entries", .gauge, "Those without records.", cache.negativeEntries),
            ("cache_used_bytes", .gauge, "Memory of the answers.", cache.octets),
            ("cache_limit_bytes", .gauge, "Memory the answers may have.", cache.limitOctets),
            ("cache_index_bytes", .gauge, "Memory of the index.", cache.indexOctets),
        ]
        if let file = cache.snapshot {
            numbers += [
                ("cache_snapshot_entries", .gauge, "Answers in the cache's file.", file.entries),
                ("cache_snapshot_bytes", .gauge, "Length of the cache's file.", file.octets),
                (
                    "cache_snapshot_failing", .gauge,
                    "Whether the file could not be read or written the last time.",
                    file.lastError != nil
                ),
            ]
        }
        if let age = cache.snapshot?.ageSeconds {
            numbers.append(
                ("cache_snapshot_age_seconds", .gauge, "Since the cache's file was written.", age)
            )
        }
        if let kernel = stats.acceleration {
            numbers += [
                (
                    "acceleration_active", .gauge,
                    "Whether the kernel answers in the daemon's place.", kernel.state == .on
                ),
                ("acceleration_answers", .counter, "Answers the kernel gave.", kernel.answers),
                ("acceleration_entries", .gauge, "Answers the kernel has.", kernel.entries),
            ]
        }
        Self.write(numbers, to: &text)
    }

    private func writeDaemon(to text: inout Exposition) {
        let problems = vendors.compactMap(\.problem).count + upstreams.compactMap(\.problem).count
        let network = stats.network
        var numbers: [Number] = [
            ("problems", .gauge, "Vendors and upstreams not as they should be.", problems),
            ("network_changes", .counter, "Times of another network.", network.changes),
            ("network_resumes", .counter, "Times the machine had slept.", network.resumes),
            (
                "last_reload_failed", .gauge,
                "Whether the settings in force are older ones, as the file was wrong.",
                life.reloadProblem != nil
            ),
        ]
        if let age = network.lastAgeSeconds {
            numbers.append(("network_change_age_seconds", .gauge, "Since either.", age))
        }
        Self.write(numbers, to: &text)
        text.family("httpdnsd_reloads", .counter, "Reloads of the settings.") {
            $0.add(["result": "applied"], life.appliedReloads)
            $0.add(["result": "failed"], life.failedReloads)
        }
        text.family("httpdnsd_build", .info, "What runs, and with what.") {
            $0.add(
                [
                    "version": versions.version, "swift": versions.swift,
                    "libcurl": versions.libcurl, "openssl": versions.openssl,
                    "libyaml": versions.libyaml,
                ],
                1
            )
        }
        // By the names that exporters have agreed on.
        let process = stats.process
        text.single("process_cpu_seconds", .counter, "Processor time used.", process.cpuSeconds)
        text.single("process_resident_memory_bytes", .gauge, "Resident.", process.rssOctets)
        text.single("process_open_fds", .gauge, "Open descriptors.", process.descriptors)
        text.single("process_threads", .gauge, "Threads.", process.threads)
        text.single(
            "process_start_time_seconds",
            .gauge,
            "When the daemon was started, since 1970.",
            Int(life.startSeconds)
        )
    }
}
