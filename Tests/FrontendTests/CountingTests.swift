// SPDX-License-Identifier: Apache-2.0
import Resolver
import Testing

@testable import Frontend

@Suite("Counters")
struct CountingTests {
    private static func fill(_ counters: QueryCounters, times: Int) {
        for round in 0..<times {
            for source in QuerySource.allCases {
                for outcome in QueryOutcome.allCases {
                    for transport in QueryTransport.allCases
                    where (round + source.rawValue * outcome.rawValue) % 3 != transport.rawValue {
                        counters.count(source, outcome, transport)
                    }
                }
            }
        }
    }

    private static func isEven(_ sums: QuerySums) -> Bool {
        [sums.bySource, sums.byOutcome, sums.byTransport].allSatisfy { side in
            side.values.reduce(0, +) == sums.total
        }
    }

    @Test
    func `each query is counted once for each label`() {
        let counters = QueryCounters()
        for source in QuerySource.allCases {
            for outcome in QueryOutcome.allCases {
                for transport in QueryTransport.allCases {
                    var before = QuerySums()
                    counters.add(to: &before)
                    counters.count(source, outcome, transport)
                    var after = QuerySums()
                    counters.add(to: &after)
                    let one = after.since(before)
                    #expect(one.total == 1)
                    #expect(one.bySource["\(source)"] == 1)
                    #expect(one.byOutcome[outcome.name] == 1)
                    #expect(one.byTransport["\(transport)"] == 1)
                    #expect(Self.isEven(one))
                }
            }
        }
    }

    @Test
    func `the sums of all labels equal the total, even under concurrent counting`() async {
        let threads = (0..<3).map { _ in QueryCounters() }
        await withTaskGroup(of: Void.self) { group in
            for counters in threads { group.addTask { Self.fill(counters, times: 300) } }
            group.addTask {
                var latest: UInt64 = 0
                for _ in 0..<200 {
                    var sums = QuerySums()
                    for counters in threads { counters.add(to: &sums) }
                    #expect(Self.isEven(sums))
                    #expect(sums.total >= latest)
                    latest = sums.total
                }
            }
        }
        var one = QuerySums()
        threads[0].add(to: &one)
        var all = QuerySums()
        for counters in threads { counters.add(to: &all) }
        #expect(all.total == 3 * one.total)
        #expect(one.total > 0)
        #expect(all.since(one).total == 2 * one.total)
    }

    @Test
    func `every value of a label has a counter before the first query`() {
        let sums = QuerySums()
        #expect(sums.bySource.count == QuerySource.allCases.count)
        #expect(
            Set(sums.byOutcome.keys) == [
                "noerror", "nodata", "nxdomain", "servfail", "refused", "formerr", "notimp",
                "badvers", "other",
            ]
        )
        #expect(sums.byTransport == ["udp": 0, "tcp": 0])
    }

    @Test(
        arguments: [
            (0, false, "noerror"), (0, true, "nodata"), (1, true, "formerr"), (2, true, "servfail"),
            (3, true, "nxdomain"), (3, false, "nxdomain"), (4, true, "notimp"),
            (5, true, "refused"),
            (16, true, "badvers"), (6, true, "other"), (23, true, "other"),
        ] as [(UInt16, Bool, String)]
    )
    func `every RCODE has an outcome`(_ rcode: UInt16, _ isEmpty: Bool, _ name: String) {
        #expect(QueryOutcome(rcode: rcode, isEmpty: isEmpty).name == name)
    }
}
