// SPDX-License-Identifier: Apache-2.0
private import FoundationEssentials

/// State of the fleet: the machines that share the answers of vendors.
package struct FleetStatus: Codable, Sendable, Equatable {
    package var state: State

    /// Nil if not connected.
    package var server: String?

    /// Time of the latest change of `state` (RFC 3339); nil if the fleet is off.
    package var since: String?

    package var lastError: String?

    package var members: Int?

    package enum State: String, Codable, Sendable {
        case connected

        case alone

        case off
    }

    package init(state: State = .off) { self.state = state }

    /// Sets `since` to a time in seconds since 1970.
    package mutating func setSince(_ wallSeconds: Int64) {
        since = Date(timeIntervalSince1970: Double(wallSeconds)).formatted(.iso8601)
    }
}

/// Counters of the fleet.
package struct FleetStats: Codable, Sendable, Equatable {
    package var reads: UInt64 = 0

    package var found: UInt64 = 0
    package var notFound: UInt64 = 0

    package var led: UInt64 = 0

    package var waited: UInt64 = 0

    package var waitedInVain: UInt64 = 0

    package var published: UInt64 = 0

    package var received: UInt64 = 0

    package var timeouts: UInt64 = 0

    /// Values and messages that are forged, unreadable, replayed, or older than a flush.
    package var rejected: UInt64 = 0

    package var errors: UInt64 = 0
    package init() {}
}
