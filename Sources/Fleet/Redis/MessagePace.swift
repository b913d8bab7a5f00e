// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Leaky bucket that limits the rate of messages, because every client of Redis can publish them.
struct MessagePace {
    private var octets = 0
    private var updated: Instant
    init(at now: Instant) { updated = now }
    mutating func note(_ octets: Int) { self.octets += octets }
    mutating func noteMessage() { octets += FleetLimits.messageCost }

    /// Returns the time to wait before the next read.
    mutating func pause(at now: Instant) -> Duration {
        // The limit of 60 s prevents an overflow: the clock also runs while the host is suspended.
        let passed = min(now - updated, .seconds(60))
        let microseconds = Int(passed / .microseconds(1))
        octets = max(0, octets - microseconds * FleetLimits.messageRate / 1_000_000)
        updated = now
        let excess = max(0, octets - FleetLimits.messageBurst)
        return .microseconds(excess * 1_000_000 / FleetLimits.messageRate)
    }
}
