// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import Net
package import Resolver
internal import Synchronization

package enum QuerySource: Int, CaseIterable {
    case cache

    /// Stale entry, because no source answered in time.
    case stale
    case vendor
    case upstream

    /// The daemon itself, for example special names.
    case local

    /// The client is not allowed or exceeds the rate limit, or the class is not IN.
    case refused

    case invalid

    case failed
}

package enum QueryOutcome: Int, CaseIterable {
    case noError, noData, nxDomain, servFail, refused, formErr, notImp, badVers, other

    package init(rcode: UInt16, isEmpty: Bool) {
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

    package var name: String { "\(self)".lowercased() }
}

package enum QueryTransport: Int, CaseIterable {
    case udp, tcp
}

/// Query counters of one writer thread, readable by any thread.
package final class QueryCounters: Sendable {
    private let cells: InlineArray<144, Atomic<UInt64>> = InlineArray { _ in Atomic(0) }

    let ignored = Atomic<UInt64>(0)

    let limited = Atomic<UInt64>(0)

    let truncated = Atomic<UInt64>(0)

    let unsent = Atomic<UInt64>(0)

    package let hitLatency = LatencyHistogram()

    package init() {}

    package func count(
        _ source: QuerySource,
        _ outcome: QueryOutcome,
        _ transport: QueryTransport,
        times: UInt64 = 1
    ) {
        Self.add(times, to: cells[Self.index(source, outcome, transport)])
    }

    func count(_ hit: CacheHit, over transport: QueryTransport) {
        count(.cache, QueryOutcome(rcode: UInt16(hit.rcode), isEmpty: hit.isEmpty), transport)
        if hit.isTruncated { Self.add(1, to: truncated) }
    }

    static func add(_ number: UInt64, to counter: borrowing Atomic<UInt64>) {
        counter.store(counter.load(ordering: .relaxed) &+ number, ordering: .relaxed)
    }

    package func add(to sums: inout QuerySums) {
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

package struct QuerySums: Sendable {
    fileprivate(set) var cells = [UInt64](repeating: 0, count: 144)
    package var ignored: UInt64 = 0
    package var limited: UInt64 = 0
    package var truncated: UInt64 = 0
    package var unsent: UInt64 = 0

    package init() {}

    package var total: UInt64 { cells.reduce(0, +) }

    package var bySource: [String: UInt64] {
        sums(QuerySource.self, { "\($0)" }) { source, _, _ in source }
    }

    package var byOutcome: [String: UInt64] {
        sums(QueryOutcome.self, \.name) { _, outcome, _ in outcome }
    }

    package var byTransport: [String: UInt64] {
        sums(QueryTransport.self, { "\($0)" }) { _, _, transport in transport }
    }

    package func since(_ earlier: QuerySums) -> QuerySums {
        var difference = self
        for index in cells.indices { difference.cells[index] -= earlier.cells[index] }
        difference.ignored -= earlier.ignored
        difference.limited -= earlier.limited
        difference.truncated -= earlier.truncated
        difference.unsent -= earlier.unsent
        return difference
    }

    package func forEach(_ body: (QuerySource, QueryOutcome, QueryTransport, UInt64) -> Void) {
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

extension QuerySource {
    package init(_ resolution: Resolution) {
        self =
            if resolution.isFailure {
                .failed
            } else if resolution.provenance.isStale {
                .stale
            } else {
                switch resolution.provenance.source {
                case .vendor: .vendor
                case .upstream: .upstream
                case .local: .local
                }
            }
    }
}
