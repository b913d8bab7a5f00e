// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Latencies in the buckets of a Prometheus histogram.
///
/// The upper bounds (excluded) are powers of two from 4 µs to about 8 s, as in `LatencyHistogram`.
struct LatencyBuckets {
    let counts: [(bound: Double, count: UInt64)]
    let count: UInt64

    /// Sum of the latencies in seconds; computed from the buckets, with an error of at most 1/16.
    let sum: Double

    static let exponents = 2...23

    init(_ latencies: LatencySum) {
        counts = Self.exponents.map { exponent in
            (Double(1 << exponent) / 1_000_000, latencies.count(below: 1 << UInt64(exponent)))
        }
        count = latencies.count
        sum = latencies.microseconds / 1_000_000
    }
}
