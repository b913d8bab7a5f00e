// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Latencies in the buckets of a Prometheus histogram.
///
/// The upper bounds are powers of two from 4 µs to about 8 s.  Each is also a bucket bound of
/// `LatencyHistogram`, so the counts are exact.  Latencies are whole microseconds, and a bucket
/// counts those below its bound.
struct LatencyBuckets {
    /// Cumulative counts; the bounds are seconds.
    let counts: [(bound: Double, count: UInt64)]

    let count: UInt64

    /// Sum of the latencies in seconds, accurate to 1/16.
    ///
    /// Computed from the buckets of `LatencyHistogram`: adding up each latency would slow down the
    /// hit path.
    let sum: Double

    /// Exponents of the bounds: powers of two, in microseconds.
    static let exponents = 2...23

    init(_ latencies: LatencySum) {
        counts = Self.exponents.map { exponent in
            (Double(1 << exponent) / 1_000_000, latencies.count(below: 1 << UInt64(exponent)))
        }
        count = latencies.count
        sum = latencies.microseconds / 1_000_000
    }
}
