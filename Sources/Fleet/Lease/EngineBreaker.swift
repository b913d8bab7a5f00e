// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of the engine: after several timeouts in a row, no client waits for it.
///
/// Only the answer to a probe closes the breaker, and only one that came in time.
struct EngineBreaker: Hashable, Sendable {
    private var timeouts = 0

    private(set) var isOpen = false

    /// Notes commands that ended in time; a late answer of an open breaker has no effect.
    mutating func answered() { timeouts = 0 }

    /// Notes commands that timed out; returns true if the breaker opens.
    mutating func timedOut() -> Bool {
        guard !isOpen else { return false }
        timeouts += 1
        isOpen = timeouts >= FleetLimits.timeouts
        return isOpen
    }

    /// Notes a probe that was answered in time; returns true if the breaker closes.
    mutating func probeAnswered() -> Bool {
        timeouts = 0
        defer { isOpen = false }
        return isOpen
    }
}
