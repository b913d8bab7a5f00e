// SPDX-License-Identifier: Apache-2.0
import Control
import Foundation
import HTTPDNS
import Net
import Testing

@testable import Administration
@testable import Configuration
@testable import Frontend

@Suite("Metrics")
struct MetricsReportTests {
    private static func stats() throws -> (stats: StatsReply, numbers: [String: Int]) {
        var sample = StatsReply(sinceSeconds: 0)
        sample.acceleration = AccelerationStatus(state: .on)
        sample.packets = ["ignored": 0, "truncated-replies": 0, "unsent-replies": 0]
        sample.cache.snapshot = SnapshotStatus(path: "/x")
        sample.cache.snapshot?.ageSeconds = 0
        sample.network.lastAgeSeconds = 0
        sample.log = LogStats()
        var vendor = VendorStats(name: "v")
        vendor.failures = ["timeout": 0]
        vendor.avoided = ["cached": 0, "merged": 0]
        vendor.routes = [RouteCost(route: "f:1", domain: "example.com", names: 0)]
        var budget = BudgetStatus(dayEndsSeconds: 0)
        budget.callsPerDay = 9
        vendor.budget = budget
        sample.vendors = [vendor]
        var upstream = UpstreamStats(name: "u", protected: true)
        upstream.failures = ["timeout": 0]
        sample.upstreams = [upstream]
        var numbers: [String: Int] = [:]
        func number(_ value: Any, _ path: String) -> Any {
            switch value {
            case let table as [String: Any]:
                return Dictionary(
                    uniqueKeysWithValues: table.sorted { $0.key < $1.key }.map {
                        ($0.key, number($0.value, "\(path).\($0.key)"))
                    }
                )
            case let list as [Any]: return list.map { number($0, path) }
            // A JSON Boolean is an `NSNumber` with the type code `c`.
            case let leaf as NSNumber where String(cString: leaf.objCType) != "c":
                numbers[path] = 7001 + numbers.count
                return 7000 + numbers.count
            default: return value
            }
        }
        let json = try JSONSerialization.jsonObject(with: Data(JSONText.encode(sample)))
        let numbered = try JSONSerialization.data(withJSONObject: number(json, "stats"))
        return (try JSONText.decode(StatsReply.self, from: Array(numbered)), numbers)
    }

    @Test("the metrics have every counter of `stats`", arguments: Exposition.Form.allCases)
    func complete(_ form: Exposition.Form) throws {
        let (stats, numbers) = try Self.stats()
        let text = String(decoding: MetricsReport(stats: stats).octets(form), as: UTF8.self)
        let values = Set(text.split(separator: "\n").compactMap { $0.split(separator: " ").last })
        #expect(numbers.count > 50)
        let others = ["stats.queries.", "stats.latency.", "stats.since-seconds"]
        let aliases = [".failed", ".failures-by-kind.timeout"]
        for (path, number) in numbers
        where !aliases.contains(where: path.hasSuffix) && !others.contains(where: path.hasPrefix)
            && !path.hasSuffix(".day-ends-seconds")
        {
            let isThere = values.contains("\(number)") || values.contains("\(number).0")
            #expect(isThere, "\(path)")
        }
    }

    @Test("each query increments the counter with its source, RCODE and transport as labels")
    func queries() {
        let counters = QueryCounters()
        for _ in 0..<3 { counters.count(.vendor, .nxDomain, .tcp) }
        var report = MetricsReport(stats: StatsReply(sinceSeconds: 0))
        counters.add(to: &report.queries)
        let text = String(decoding: report.octets(.prometheus), as: UTF8.self)
        #expect(
            text.contains(
                #"httpdnsd_queries_total{source="vendor",rcode="nxdomain",transport="tcp"} 3"#
                    + "\n"
            )
        )
        let cells = text.split(separator: "\n").filter { $0.hasPrefix("httpdnsd_queries_total{") }
        #expect(cells.count == 144)
        #expect(cells.filter { $0.hasSuffix(" 0") }.count == 143)
    }

    @Test("histogram buckets have exact bounds; the sum of the durations is approximate")
    func buckets() throws {
        let histogram = LatencyHistogram()
        let times: [Int64] = [3, 4, 127, 128, 1023, 1024, 8_388_607, 8_388_608, 20_000_000]
        for time in times { histogram.note(.microseconds(time)) }
        var sum = LatencySum()
        histogram.add(to: &sum)
        let buckets = LatencyBuckets(sum)
        #expect(buckets.counts.count == 22)
        for (bound, count) in buckets.counts {
            let expected = times.count { Double($0) / 1_000_000 < bound }
            #expect(count == UInt64(expected), "\(bound)")
        }
        #expect(buckets.count == UInt64(times.count))
        // The expected sum leaves out the last duration, which is above all finite buckets.
        let whole = Double(times.dropLast().reduce(0, +)) / 1_000_000
        let most = LatencyHistogram()
        for time in times.dropLast() { most.note(.microseconds(time)) }
        var less = LatencySum()
        most.add(to: &less)
        #expect(abs(LatencyBuckets(less).sum - whole) < whole / 16)
    }

    @Test(
        "metric names and the last line of the text depend on the exposition format",
        arguments: Exposition.Form.allCases
    )
    func forms(_ form: Exposition.Form) {
        var text = Exposition(form)
        text.single("a_calls", .counter, "Calls.", 1 as UInt64)
        text.single("a_used_bytes", .gauge, "Used.", 2.5)
        text.family("a_build", .info, "Build.") { $0.add(["x": "1"], 1) }
        text.family("nothing", .gauge, "None.") { _ in }
        text.family("state", .gauge, "State.") {
            $0.add([("v", "a\\b\"c\nd")], state: 2, of: [(1, "one"), (2, "two")])
            $0.add(["v": "twice"], 1)
            $0.add(["v": "twice"], 2)
        }
        let common = """
            state{v="a\\\\b\\"c\\nd",state="one"} 0
            state{v="a\\\\b\\"c\\nd",state="two"} 1
            state{v="twice"} 1

            """
        let expected =
            switch form {
            case .prometheus:
                """
                # HELP a_calls_total Calls.
                # TYPE a_calls_total counter
                a_calls_total 1
                # HELP a_used_bytes Used.
                # TYPE a_used_bytes gauge
                a_used_bytes 2.5
                # HELP a_build_info Build.
                # TYPE a_build_info gauge
                a_build_info{x="1"} 1
                # HELP state State.
                # TYPE state gauge

                """ + common
            case .openMetrics:
                """
                # TYPE a_calls counter
                # HELP a_calls Calls.
                a_calls_total 1
                # TYPE a_used_bytes gauge
                # UNIT a_used_bytes bytes
                # HELP a_used_bytes Used.
                a_used_bytes 2.5
                # TYPE a_build info
                # HELP a_build Build.
                a_build_info{x="1"} 1
                # TYPE state gauge
                # HELP state State.

                """ + common + "# EOF\n"
            }
        #expect(String(decoding: text.octets, as: UTF8.self) == expected)
    }
}
