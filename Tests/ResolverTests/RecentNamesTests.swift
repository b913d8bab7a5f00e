// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Resolver

@Suite("Facts that the resolver stores: recent names, and numbers of answer sources")
struct RecentNamesTests {
    private let start = Clock.now

    @Test
    func `a fact about a name is remembered until it expires, whatever the letter case`() {
        var names = RecentNames<Int>(limit: 4)
        names.insert(1, of: "www.example.com", until: start + .seconds(5))
        #expect(names.value(of: "WWW.example.com", now: start + .milliseconds(4_999)) == 1)
        #expect(names.value(of: "www.example.com", now: start + .seconds(5)) == nil)
        #expect(names.value(of: "example.com", now: start) == nil)
        names.insert(2, of: "www.example.com", until: start + .seconds(9))
        #expect(names.value(of: "www.example.com", now: start + .seconds(8)) == 2)
    }

    @Test
    func `the number of names is bounded, and the oldest is evicted`() throws {
        var names = RecentNames<Int>(limit: 3)
        for round in 0..<20 {
            names.insert(
                round,
                of: try Name("n\(round).example.com"),
                until: start + .seconds(60)
            )
            let known = try (0..<20).compactMap { number in
                names.value(of: try Name("n\(number).example.com"), now: start)
            }
            #expect(known == Array(max(0, round - 2)...round))
        }
        names.removeAll()
        #expect(names.value(of: "n19.example.com", now: start) == nil)
        names.insert(1, of: "a.example.com", until: start + .seconds(1))
        #expect(names.value(of: "a.example.com", now: start) == 1)
    }

    @Test
    @ServiceLoop
    func `the number of a source never changes`() {
        let origins = AnswerSourceRegistry()
        #expect(origins.number("one") == 1)
        #expect(origins.number("two") == 2)
        #expect(origins.number("one") == 1)
        #expect(origins.name(2) == "two")
        #expect(origins.name(AnswerSourceRegistry.itself) == "httpdnsd")
        #expect(origins.name(77) == "unknown")
        for index in 3...65_535 { _ = origins.number("n\(index)") }
        #expect(origins.number("one too many") == AnswerSourceRegistry.unknown)
        #expect(origins.number("two") == 2)
    }

    @Test
    func `a source has the same label after a restart that changes its number`() {
        let (old, new) = (AnswerSourceRegistry(), AnswerSourceRegistry())
        _ = new.number("another origin")
        let vendor = old.number("tencent/192.0.2.1:443", vendor: "tencent")
        let numbers = [
            AnswerSourceRegistry.itself, vendor, old.number("isp/udp://192.0.2.53"),
            old.number(old.number("isp/udp://192.0.2.53"), after: "tencent"),
        ]
        for number in numbers {
            let again = new.number(labelled: old.label(number))
            #expect(new.name(again) == old.name(number))
            #expect(new.vendor(again) == old.vendor(number))
            #expect(
                (again == AnswerSourceRegistry.itself) == (number == AnswerSourceRegistry.itself)
            )
        }
        #expect(new.number(labelled: old.label(vendor)) == new.number(labelled: old.label(vendor)))
    }

}

@Suite("Histograms of durations")
struct LatencyHistogramTests {
    private static func sum(_ microseconds: [Int]) -> LatencySum {
        let histogram = LatencyHistogram()
        for value in microseconds { histogram.note(.microseconds(value)) }
        var sum = LatencySum()
        histogram.add(to: &sum)
        return sum
    }

    @Test(arguments: [
        0, 1, 7, 8, 9, 15, 16, 17, 100, 1_000, 12_345, 999_999, 4_800_000, 33_000_000, 67_108_863,
    ])
    func `if there is only one value, every quantile is this value`(_ microseconds: Int) {
        let sum = Self.sum([microseconds])
        #expect(sum.count == 1)
        #expect(sum.longest == UInt64(microseconds))
        for share in [0, 0.5, 1] { #expect(sum.quantile(share) == UInt64(microseconds)) }
    }

    @Test
    func `a quantile is never too low, and at most an eighth too high`() {
        var state: UInt64 = 7
        let values = (0..<5_000).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1
            return Int((state >> 33) % 30_000_000) >> Int(state >> 60)
        }
        let sorted = values.sorted()
        let sum = Self.sum(values)
        for share in [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1] {
            let exact = sorted[max(0, Int((5_000 * share).rounded(.up)) - 1)]
            let found = sum.quantile(share)
            #expect(found >= UInt64(exact), "\(share)")
            #expect(found <= UInt64(exact + exact / 8), "\(share)")
        }
    }

    @Test
    func `zero, negative and very long durations are counted`() {
        #expect(LatencySum().quantile(0.5) == 0)
        let histogram = LatencyHistogram()
        histogram.note(.seconds(-1))
        histogram.note(.seconds(1_000_000), times: 3)
        var sum = LatencySum()
        histogram.add(to: &sum)
        #expect(sum.count == 4)
        #expect(sum.quantile(0.25) == 0)
        #expect(sum.longest == 1_000_000_000_000)
    }

    @Test
    func `the maximum since a snapshot excludes earlier values`() {
        let histogram = LatencyHistogram()
        var (before, after) = (LatencySum(), LatencySum())
        histogram.note(.seconds(3))
        histogram.add(to: &before)
        #expect(before.since(before).longest == 0)
        histogram.note(.microseconds(200))
        histogram.add(to: &after)
        let later = after.since(before)
        #expect(later.count == 1)
        #expect((200...225).contains(later.longest), "at most an eighth too high")
        #expect(later.quantile(1) == later.longest)
        histogram.note(.seconds(4))
        var last = LatencySum()
        histogram.add(to: &last)
        #expect(last.since(before).longest == 4_000_000)
    }

    @Test
    func `histograms can be added and subtracted`() {
        let both = Self.sum([1, 2, 3]).adding(Self.sum([4, 500]))
        #expect(both.count == 5)
        #expect(both.longest == 500)
        let rest = both.since(Self.sum([1, 2]))
        #expect(rest.count == 3)
        #expect(rest.quantile(0) == 3)
    }
}
