// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Latencies as a histogram of Prometheus has them.
///
/// The bounds are powers of two from 4 µs to some 8 s, so that each is the bound of a finer bucket of
/// `LatencyHistogram` and the counts are exact.  The times of a bound are those below it, as they are
/// counted in whole microseconds.
struct LatencyBuckets {
    /// How many were shorter than each bound, in seconds.
    let counts: [(bound: Double, count: UInt64)]

    /// How many there were.
    let count: UInt64

    /// How long they took together, in seconds, to a sixteenth.
    ///
    /// Nobody adds up times, as that would cost those who answer; it is reckoned from the finer buckets.
    let sum: Double

    /// The bounds, as powers of two microseconds.
    static let exponents = 2...23

    init(_ latencies: LatencySum) {
        counts = Self.exponents.map { exponent in
            (Double(1 << exponent) / 1_000_000, latencies.count(below: 1 << UInt64(exponent)))
        }
        count = latencies.count
        sum = latencies.microseconds / 1_000_000
    }
}
