// SPDX-License-Identifier: Apache-2.0

package struct AccelerationStatus: Codable, Sendable, Equatable {
    package var state: State

    package var why: String?

    package var entries: UInt64 = 0
    package var answers: UInt64 = 0

    package enum State: String, Codable, Sendable {
        case on

        case resting
        case off
    }

    package init(state: State, why: String? = nil) {
        self.state = state
        self.why = why
    }
}
