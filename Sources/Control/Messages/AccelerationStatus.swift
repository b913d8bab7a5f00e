// SPDX-License-Identifier: Apache-2.0

package struct AccelerationStatus: Codable, Sendable, Equatable {
    package var state: State

    /// Reason why the state is not `on`; nil if the state is `on`.
    package var why: String?

    package var entries: UInt64 = 0
    package var answers: UInt64 = 0

    package enum State: String, Codable, Sendable {
        case on

        /// Acceleration is suspended while the daemon logs all queries, or a client calls `Watch`.
        case resting
        case off
    }

    package init(state: State, why: String? = nil) {
        self.state = state
        self.why = why
    }
}
