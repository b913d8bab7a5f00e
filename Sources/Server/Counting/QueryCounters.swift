// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import Net
internal import Synchronization

/// Who answered a query; every query has exactly one.
enum QuerySource: Int, CaseIterable {
    /// A fresh entry of the answer cache.
    case cache

    /// An entry whose time was over, as nobody had a better answer soon enough.
    case stale
    case vendor
    case upstream

    /// This daemon itself: special-use names, types that ask for no record.
    case local

    /// Turned away: a client that is not allowed, a class other than IN.
    case refused

    /// Not a query that could be understood, or of a version or opcode that is not spoken here.
    case invalid

    /// Nobody had an answer in time, or too many were waiting for one.
    case failed
}

/// How a query was answered; every query has exactly one.
enum QueryOutcome: Int, CaseIterable {
    case noError, noData, nxDomain, servFail, refused, formErr, notImp, badVers, other

    /// The outcome of a reply with this RCODE.
    init(rcode: UInt16, isEmpty: Bool) {
        self =
            switch rcode {
            case 0: isEmpty ? .noData : .noError
            case 1: .formErr
            case 2: .servFail
            case 3: .nxDomain
            case 4: .notImp
            case 5: .refused
            case 16: .badVers
            default: .other
            }
    }

    /// Its name in `stats`.
    var name: String { "\(self)".lowercased() }
}

/// How a query came.
enum QueryTransport: Int, CaseIterable {
    case udp, tcp
}

/// The counters of one thread: written by it alone, read by anybody.
///
/// A query is counted once, in one cell of a table with three sides; what `stats` shows by source,
/// by outcome and by transport are sums over one copy of the table, so the three always add up to
/// the same total.  A relaxed load and store, which only a sole writer may do, cost what adding to a
/// plain number costs.
final class QueryCounters: Sendable {
    private let cells: InlineArray<144, Atomic<UInt64>> = InlineArray { _ in Atomic(0) }

    /// Datagrams and messages that are no queries: too short, or replies.
    let ignored = Atomic<UInt64>(0)

    /// Queries beyond the rate limit: each other one was sent to TCP, the others were dropped.
    let limited = Atomic<UInt64>(0)

    /// Replies sent with TC set.
    let truncated = Atomic<UInt64>(0)

    /// Replies that the kernel did not take.
    let unsent = Atomic<UInt64>(0)

    /// From a query's arrival to its reply, answered from the cache.
    let hitLatency = LatencyHistogram()

    /// Counts a query, or several of a kind.
    func count(
        _ source: QuerySource,
        _ outcome: QueryOutcome,
        _ transport: QueryTransport,
        times: UInt64 = 1
    ) {
        Self.add(times, to: cells[Self.index(source, outcome, transport)])
    }

    /// Counts a query that was answered from the cache.
    func count(_ hit: CacheHit, over transport: QueryTransport) {
        count(.cache, QueryOutcome(rcode: UInt16(hit.rcode), isEmpty: hit.isEmpty), transport)
        if hit.isTruncated { Self.add(1, to: truncated) }
    }

    /// Adds to a counter that the calling thread alone writes.
    static func add(_ number: UInt64, to counter: borrowing Atomic<UInt64>) {
        counter.store(counter.load(ordering: .relaxed) &+ number, ordering: .relaxed)
    }

    /// Adds the table's cells to `sums`.
    func add(to sums: inout QuerySums) {
        for index in sums.cells.indices {
            sums.cells[index] += cells[index].load(ordering: .relaxed)
        }
        sums.ignored += ignored.load(ordering: .relaxed)
        sums.limited += limited.load(ordering: .relaxed)
        sums.truncated += truncated.load(ordering: .relaxed)
        sums.unsent += unsent.load(ordering: .relaxed)
    }

    fileprivate static func index(
        _ source: QuerySource,
        _ outcome: QueryOutcome,
        _ transport: QueryTransport
    ) -> Int {
        (source.rawValue * QueryOutcome.allCases.count + outcome.rawValue)
            * QueryTransport.allCases.count + transport.rawValue
    }
}

/// The counters of all threads, added up at one moment.
struct QuerySums: Sendable {
    fileprivate(set) var cells = [UInt64](repeating: 0, count: 144)
    var ignored: UInt64 = 0
    var limited: UInt64 = 0
    var truncated: UInt64 = 0
    var unsent: UInt64 = 0

    var total: UInt64 { cells.reduce(0, +) }

    /// Queries by source.
    var bySource: [String: UInt64] {
        sums(QuerySource.self, { "\($0)" }) { source, _, _ in source }
    }

    /// Queries by outcome.
    var byOutcome: [String: UInt64] {
        sums(QueryOutcome.self, \.name) { _, outcome, _ in outcome }
    }

    /// Queries by transport.
    var byTransport: [String: UInt64] {
        sums(QueryTransport.self, { "\($0)" }) { _, _, transport in transport }
    }

    /// What has been counted since `earlier`.
    func since(_ earlier: QuerySums) -> QuerySums {
        var difference = self
        for index in cells.indices { difference.cells[index] -= earlier.cells[index] }
        difference.ignored -= earlier.ignored
        difference.limited -= earlier.limited
        difference.truncated -= earlier.truncated
        difference.unsent -= earlier.unsent
        return difference
    }

    /// Calls `body` with each cell of the table.
    func forEach(_ body: (QuerySource, QueryOutcome, QueryTransport, UInt64) -> Void) {
        for source in QuerySource.allCases {
            for outcome in QueryOutcome.allCases {
                for transport in QueryTransport.allCases {
                    let index = QueryCounters.index(source, outcome, transport)
                    body(source, outcome, transport, cells[index])
                }
            }
        }
    }

    private func sums<Side: CaseIterable & Hashable>(
        _: Side.Type,
        _ name: (Side) -> String,
        by side: (QuerySource, QueryOutcome, QueryTransport) -> Side
    ) -> [String: UInt64] {
        var sums: [String: UInt64] = [:]
        for one in Side.allCases { sums[name(one)] = 0 }
        forEach { sums[name(side($0, $1, $2)), default: 0] += $3 }
        return sums
    }
}
