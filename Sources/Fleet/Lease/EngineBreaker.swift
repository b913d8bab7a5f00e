// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of Redis; while the breaker is open, no client waits for Redis.
///
/// The breaker opens after several timeouts in a row. The server must also have been silent for
/// ``FleetLimits/shortSilence``, because commands that are sent together time out together.
struct EngineBreaker: Hashable, Sendable {
    private var timeouts = 0
    private(set) var isOpen = false

    /// Resets the count of timeouts; does not close an open breaker.
    mutating func answered() { timeouts = 0 }

    /// Counts a timeout; returns true if the breaker opens.
    ///
    /// - Parameter silence: time since the oldest command without a reply was sent.
    mutating func timedOut(silence: Duration) -> Bool {
        guard !isOpen else { return false }
        timeouts = min(timeouts + 1, FleetLimits.timeouts)
        isOpen = timeouts == FleetLimits.timeouts && silence >= FleetLimits.shortSilence
        return isOpen
    }

    /// Closes the breaker; returns true if the breaker was open.
    mutating func probeAnswered() -> Bool {
        timeouts = 0
        defer { isOpen = false }
        return isOpen
    }
}
