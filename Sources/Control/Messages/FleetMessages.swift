// SPDX-License-Identifier: Apache-2.0
private import FoundationEssentials

/// State of the fleet: the machines that share the answers of vendors.
package struct FleetStatus: Codable, Sendable, Equatable {
    package var state: State

    /// Address of the Redis server; nil if not connected.
    package var server: String?

    /// Time of the latest change of `state` (RFC 3339); nil if off.
    package var since: String?

    package var lastError: String?

    /// Number of machines with a heartbeat in the last minute; nil if off.
    package var members: Int?

    package enum State: String, Codable, Sendable {
        case connected

        /// The Redis server is not used; this machine calls the vendors itself.
        case alone

        /// The settings have no fleet.
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
    /// Number of reads of shared answers from the Redis server.
    package var reads: UInt64 = 0

    package var found: UInt64 = 0
    package var notFound: UInt64 = 0

    /// Number of vendor calls that this machine announced, so that other machines wait for the
    /// result.
    package var led: UInt64 = 0

    /// Number of lookups that waited for the vendor call of another machine.
    package var waited: UInt64 = 0

    /// Number of lookups that waited for another machine, but did not get an answer from the other
    /// machine.
    package var waitedInVain: UInt64 = 0

    package var published: UInt64 = 0

    /// Answers that this machine received in messages of other machines.
    package var received: UInt64 = 0

    package var timeouts: UInt64 = 0

    /// Number of values and messages that this machine ignored.
    ///
    /// Examples: values and messages that are forged, unreadable, replayed, or older than a flush.
    package var rejected: UInt64 = 0

    package var errors: UInt64 = 0
    package init() {}
}
