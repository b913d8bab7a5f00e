// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Histogram of durations up to 67 s: 192 buckets; above 8 µs, eight buckets per power of two.
package final class LatencyHistogram: Sendable {
    private let buckets: InlineArray<192, Atomic<UInt64>> = InlineArray { _ in Atomic(0) }
    private let longest = Atomic<UInt64>(0)

    package init() {}

    /// Records `times` events of this duration; for the writer thread only.
    package func note(_ duration: Duration, times: UInt64 = 1) {
        let microseconds = duration.nanoseconds / 1000
        let bucket = Self.bucket(microseconds)
        buckets[bucket].store(
            buckets[bucket].load(ordering: .relaxed) &+ times,
            ordering: .relaxed
        )
        if microseconds > longest.load(ordering: .relaxed) {
            longest.store(microseconds, ordering: .relaxed)
        }
    }

    /// Median, at most an eighth too high; nil if the histogram is empty.
    package var median: Duration? {
        var sum = LatencySum()
        add(to: &sum)
        return sum.count > 0 ? .microseconds(Int64(sum.quantile(0.5))) : nil
    }

    package func add(to sum: inout LatencySum) {
        for index in sum.buckets.indices {
            sum.buckets[index] += buckets[index].load(ordering: .relaxed)
        }
        sum.longest = max(sum.longest, longest.load(ordering: .relaxed))
    }

    fileprivate static func bucket(_ microseconds: UInt64) -> Int {
        guard microseconds >= 8 else { return Int(microseconds) }
        let exponent = 63 - microseconds.leadingZeroBitCount
        let eighth = Int((microseconds >> (exponent - 3)) & 7)
        return min((exponent - 2) * 8 + eighth, 191)
    }

    fileprivate static func upperBound(_ bucket: Int) -> UInt64 {
        guard bucket >= 8 else { return UInt64(bucket) }
        let exponent = bucket / 8 + 2
        return (UInt64(8 + bucket % 8 + 1) << (exponent - 3)) - 1
    }
}

package struct LatencySum: Sendable {
    fileprivate var buckets = [UInt64](repeating: 0, count: 192)

    /// In microseconds.
    package fileprivate(set) var longest: UInt64 = 0

    package init() {}

    package var count: UInt64 { buckets.reduce(0, +) }

    /// Returns the number of events shorter than `microseconds`, a power of two up to 2^24.
    package func count(below microseconds: UInt64) -> UInt64 {
        buckets[..<LatencyHistogram.bucket(microseconds)].reduce(0, +)
    }

    /// Sum of all durations in microseconds; the error is at most 1/16.
    package var microseconds: Double {
        var lower: UInt64 = 0
        return buckets.enumerated().reduce(0) { sum, bucket in
            let upper = LatencyHistogram.upperBound(bucket.offset)
            defer { lower = upper + 1 }
            return sum + Double(bucket.element) * Double(lower + upper) / 2
        }
    }

    /// Returns the quantile `share` (0…1) in microseconds, at most an eighth too high.
    package func quantile(_ share: Double) -> UInt64 {
        let total = count
        guard total > 0 else { return 0 }
        let rank = max(1, UInt64((Double(total) * share).rounded(.up)))
        var passed: UInt64 = 0
        for (index, number) in buckets.enumerated() {
            passed += number
            if passed >= rank { return min(LatencyHistogram.upperBound(index), longest) }
        }
        return longest
    }

    package func adding(_ others: LatencySum) -> LatencySum {
        var sum = self
        for index in buckets.indices { sum.buckets[index] += others.buckets[index] }
        sum.longest = max(longest, others.longest)
        return sum
    }

    /// Returns this sum without the events in `earlier`; `longest` is at most an eighth too high.
    package func since(_ earlier: LatencySum) -> LatencySum {
        var difference = self
        for index in buckets.indices { difference.buckets[index] -= earlier.buckets[index] }
        guard longest <= earlier.longest else { return difference }
        let highest = difference.buckets.lastIndex { $0 > 0 }
        difference.longest = highest.map { min(LatencyHistogram.upperBound($0), longest) } ?? 0
        return difference
    }
}
