// SPDX-License-Identifier: Apache-2.0

/// State and counts of kernel acceleration: answers that an eBPF program sends.
package struct AccelerationStatus: Codable, Sendable, Equatable {
    /// State of the acceleration.
    package var state: State

    /// Reason for a state other than `on`; nil if `on`.
    package var why: String?

    /// Number of answers that the kernel holds.
    package var entries: UInt64 = 0

    /// Answers that the kernel sent since the daemon's start.
    package var answers: UInt64 = 0

    /// The state of the acceleration.
    package enum State: String, Codable, Sendable {
        case on

        /// Suspended while all queries are logged or watched.
        case resting
        case off
    }

    /// Creates a status with zero counts.
    package init(state: State, why: String? = nil) {
        self.state = state
        self.why = why
    }
}
