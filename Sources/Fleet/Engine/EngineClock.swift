// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Estimate of the Redis clock; all hosts use the Redis clock instead of their own clocks.
struct EngineClock: Sendable, Hashable {
    /// Time of the Redis clock at `instant`, in milliseconds since 1970.
    private let milliseconds: Int64
    private let instant: Instant

    /// Milliseconds by which this clock is behind the highest clock that was accepted earlier.
    ///
    /// This number is limited, so that a hostile Redis server cannot go back in many small steps.
    private var ahead: Int64 = 0

    /// Creates the clock from a reply to TIME; nil if the reply is invalid.
    ///
    /// Assumes that Redis read its clock in the middle between request and reply.
    init?(_ reply: RedisReply, sent: Instant, received: Instant) {
        let words = reply.elements.compactMap(\.string).compactMap { Int64($0) }
        guard words.count == 2, (0...1 << 40).contains(words[0]),
            (0..<1_000_000).contains(words[1])
        else { return nil }
        milliseconds = words[0] * 1_000 + words[1] / 1_000
        instant = sent + (received - sent) / 2
    }

    /// Returns the time of the Redis clock at `other`, in milliseconds since 1970.
    func milliseconds(at other: Instant) -> Int64 {
        milliseconds + (other - instant).clampedNanoseconds / 1_000_000
    }

    /// Returns the seconds by which the clock went back; nil if the step back is acceptable.
    ///
    /// A step back of more than ``FleetLimits/clockStep`` is not acceptable, because it could make
    /// expired answers valid again. A larger step is acceptable if it is a *correction* of a Redis
    /// clock that was ahead of this host's clock.
    mutating func falseStep(from former: Self, at now: Instant, wallSeconds: Int64) -> Int64? {
        let old = former.milliseconds(at: now) + former.ahead
        let new = milliseconds(at: now)
        let wall = wallSeconds.multipliedReportingOverflow(by: 1_000).partialValue
        func distance(_ time: Int64) -> UInt64 {
            let (difference, overflow) = time.subtractingReportingOverflow(wall)
            return overflow ? .max : difference.magnitude
        }
        let isCorrection = old > wall && distance(new) <= distance(old)
        // A clock that NTP does not correct drifts by up to 500 ppm (1/2000).
        let drift = (instant - former.instant).clampedNanoseconds / 1_000_000 / 2_000
        ahead = max(0, (isCorrection ? wall : old) - new - max(0, drift))
        return ahead > FleetLimits.clockStep ? ahead / 1_000 : nil
    }
}
