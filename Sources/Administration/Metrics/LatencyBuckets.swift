// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Latencies in the buckets of a Prometheus histogram.
///
/// The upper bounds, powers of two from 4 µs to about 8 s, are also bounds of `LatencyHistogram`,
/// so the counts are exact. A bucket counts the latencies, whole microseconds, below its bound.
struct LatencyBuckets {
    /// Cumulative counts; the bounds are seconds.
    let counts: [(bound: Double, count: UInt64)]

    let count: UInt64

    /// In seconds, accurate to 1/16.
    ///
    /// Computed from the buckets: a sum of all latencies would slow down the hit path.
    let sum: Double

    /// Powers of two, in microseconds.
    static let exponents = 2...23

    init(_ latencies: LatencySum) {
        counts = Self.exponents.map { exponent in
            (Double(1 << exponent) / 1_000_000, latencies.count(below: 1 << UInt64(exponent)))
        }
        count = latencies.count
        sum = latencies.microseconds / 1_000_000
    }
}
