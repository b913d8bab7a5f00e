// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of the engine: after several timeouts in a row, no client waits for it.
///
/// Commands that are sent together time out together. Therefore the breaker opens only if the engine
/// has also been silent for a time.
///
/// Only the answer to a probe closes the breaker, and only one that came in time.
struct EngineBreaker: Hashable, Sendable {
    private var timeouts = 0

    private(set) var isOpen = false

    /// Notes commands that ended in time; a late answer of an open breaker has no effect.
    mutating func answered() { timeouts = 0 }

    /// Notes commands that timed out; returns true if the breaker opens.
    ///
    /// - Parameter silence: time since the oldest command without a reply was sent.
    mutating func timedOut(silence: Duration) -> Bool {
        guard !isOpen else { return false }
        timeouts = min(timeouts + 1, FleetLimits.timeouts)
        isOpen = timeouts == FleetLimits.timeouts && silence >= FleetLimits.shortSilence
        return isOpen
    }

    /// Notes a probe that was answered in time; returns true if the breaker closes.
    mutating func probeAnswered() -> Bool {
        timeouts = 0
        defer { isOpen = false }
        return isOpen
    }
}
