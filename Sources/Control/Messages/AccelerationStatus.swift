// SPDX-License-Identifier: Apache-2.0

/// Whether the kernel answers in the daemon's place, and how much.
package struct AccelerationStatus: Codable, Sendable, Equatable {
    /// Whether it does.
    package var state: State

    /// Why it does not, or not now; nil if it does.
    package var why: String?

    /// Answers that it has.
    package var entries: UInt64 = 0

    /// Answers that it gave since the daemon's start.
    package var answers: UInt64 = 0

    /// The state of the acceleration.
    package enum State: String, Codable, Sendable {
        case on

        /// For the time being somebody wants to see every query.
        case resting
        case off
    }

    /// Makes a status of something that has answered nothing.
    package init(state: State, why: String? = nil) {
        self.state = state
        self.why = why
    }
}
