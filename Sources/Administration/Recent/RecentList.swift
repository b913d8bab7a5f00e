// SPDX-License-Identifier: Apache-2.0
package import Control
internal import DNSWire
package import Frontend
package import Net
package import Resolver

/// List of recent queries, for `watch`, `top` and the query log.
///
/// `top` reads all recent queries, which takes milliseconds, so it uses `offLoop`.
package struct RecentList: Sendable {
    private let words: [UInt64]
    private let lost: UInt64
    private let origins: AnswerSourceRegistry

    /// Current time in the unit of `QueryRecord.arrival`.
    private let now: UInt64

    /// Current time in milliseconds since 1970.
    private let wallMilliseconds: Int64

    package init(_ news: RecentReader.News, _ clocks: Clocks, _ origins: AnswerSourceRegistry) {
        words = news.words
        lost = news.lost
        self.origins = origins
        now = RecentQueries.time(clocks.now())
        wallMilliseconds = Clock.wallMilliseconds
    }

    private var records: some Sequence<(QueryRecord, ArraySlice<UInt64>)> {
        stride(from: 0, to: words.count, by: RecordRing.wordCount).lazy.compactMap { start in
            let slice = words[start..<start + RecordRing.wordCount]
            return QueryRecord(slice).map { ($0, slice) }
        }
    }

    // MARK: - Single queries

    /// Oldest first.
    func events(passing filter: QueryFilter, most: Int) -> WatchReply {
        var reply = WatchReply(queries: [], missed: lost)
        let candidates = records.filter { filter.passes($0.0) }.sorted {
            $0.0.arrival < $1.0.arrival
        }
        for (record, words) in candidates {
            let name = record.name(words)
            guard filter.passes(name) else { continue }
            guard reply.queries.count < most else {
                reply.missed += 1
                continue
            }
            let event = event(record, name)
            if filter.passes(event) { reply.queries.append(event) }
        }
        return reply
    }

    func slowest(_ count: Int) -> TopReply<QueryEvent> {
        let all = Array(records)
        let slowest = all.sorted {
            ($1.0.microseconds, $0.0.arrival) < ($0.0.microseconds, $1.0.arrival)
        }
        return TopReply(
            kind: .slow,
            sinceSeconds: span(all.map(\.0)),
            total: UInt64(all.count),
            entries: slowest.prefix(count).map { event($0.0, $0.0.name($0.1)) }
        )
    }

    /// Oldest first.
    package func latestMisses(_ count: Int) -> [QueryEvent] {
        records.filter { $0.0.isMiss }.sorted { $0.0.arrival < $1.0.arrival }
            .suffix(count).map { event($0.0, $0.0.name($0.1)) }
    }

    private func event(_ record: QueryRecord, _ name: Name) -> QueryEvent {
        let origin =
            record.origin == AnswerSourceRegistry.itself ? nil : origins.name(record.origin)
        return QueryEvent(
            timeMs: wallMilliseconds - Int64(clamping: (now &- record.arrival) / 1_000_000),
            name: record.isCut ? "\(name)..." : "\(name)",
            type: "\(RecordType(rawValue: record.type))",
            rcode: record.rcode == 0 && record.flags.contains(.empty)
                ? "nodata" : "\(RCode(rawValue: record.rcode))".lowercased(),
            source: "\(record.source)",
            server: origin,
            fallback: record.fallback.map { "\($0)" },
            transport: "\(record.transport)",
            client: "\(record.client.unmapped)",
            tookUs: record.microseconds,
            flags: QueryRecord.Flags.names.filter { record.flags.contains($0.flag) }.map(\.name)
                + (origins.isUnprotected(record.origin) ? ["unprotected"] : [])
                + (origins.isSynthesized(record.origin) ? ["synthesized"] : [])
                + (origins.isOfFleet(record.origin) ? ["fleet"] : [])
        )
    }

    // MARK: - Counts

    func most(_ kind: TopRequest.Kind, count: Int) -> TopReply<QueryCount> {
        var total: UInt64 = 0
        var counts: [String: QueryCount] = [:]
        var names: [Name: String] = [:]
        var known: [QueryRecord] = []
        for (record, words) in records {
            known.append(record)
            guard record.counts(as: kind) else { continue }
            total &+= record.times
            let key: String
            if kind == .clients {
                key = "\(record.client.unmapped)"
            } else {
                let name = record.name(words)
                key = names[name] ?? (record.isCut ? "\(name)..." : "\(name.lowercased)")
                names[name] = key
            }
            counts[key, default: QueryCount(name: key)].count(record)
        }
        let order = counts.values.sorted {
            ($1.amount(kind), $0.name) < ($0.amount(kind), $1.name)
        }
        return TopReply(
            kind: kind,
            sinceSeconds: span(known),
            total: total,
            entries: Array(order.prefix(count))
        )
    }

    private func span(_ records: [QueryRecord]) -> Int {
        guard let oldest = records.map(\.arrival).min(), oldest < now else { return 0 }
        return Int((now - oldest) / 1_000_000_000)
    }
}

extension QueryRecord {
    fileprivate var isMiss: Bool {
        switch source {
        case .stale, .vendor, .upstream, .failed: true
        case .cache, .local, .refused, .invalid: false
        }
    }

    fileprivate func counts(as kind: TopRequest.Kind) -> Bool {
        switch kind {
        case .misses: isMiss
        case .fallback: fallback != nil
        case .names, .clients, .slow, .cost: true
        }
    }
}

extension QueryCount {
    fileprivate mutating func count(_ record: QueryRecord) {
        queries &+= record.times
        if record.isMiss { misses += 1 }
        switch record.fallback {
        case .empty: fallbackEmpty += 1
        case .failed, .early: fallbackFailed += 1
        case nil: break
        }
        slowestUs = max(slowestUs, record.microseconds)
    }

    fileprivate func amount(_ kind: TopRequest.Kind) -> UInt64 {
        switch kind {
        case .misses: misses
        case .fallback: fallbackEmpty + fallbackFailed
        case .names, .clients, .slow, .cost: queries
        }
    }
}
