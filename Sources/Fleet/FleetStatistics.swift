// SPDX-License-Identifier: Apache-2.0
package import Net

package struct FleetStatistics: Sendable, Hashable {
    package var reads: UInt64 = 0

    /// Number of reads that returned a usable value.
    package var found: UInt64 = 0

    package var notFound: UInt64 = 0

    package var led: UInt64 = 0

    package var waited: UInt64 = 0

    package var waitedInVain: UInt64 = 0

    package var published: UInt64 = 0

    /// Number of messages of other hosts that contained a usable answer.
    package var received: UInt64 = 0

    /// Number of groups of commands that Redis did not answer in time.
    package var timeouts: UInt64 = 0

    package var rejectedByReason: [FleetRejection: UInt64] = [:]

    package var rejected: UInt64 { rejectedByReason.values.reduce(0, +) }

    /// Number of connections lost or refused for a reason other than a timeout.
    package var errors: UInt64 = 0
}

/// State of the fleet, for `status`.
package struct FleetState: Sendable, Hashable {
    package var isConnected: Bool

    /// Nil while disconnected.
    package var server: SocketAddress?

    package var since: Instant

    package var lastError: String?

    /// Number of hosts with a heartbeat in the last minute; while connected, at least 1.
    package var members: Int
}

/// Event of the fleet that the daemon logs.
package enum FleetNotice: Sendable, Hashable {
    case connected(SocketAddress, after: EngineError?)

    /// This host calls the vendors itself.
    case alone(EngineError)

    /// Reported once for each reason.
    case rejected(FleetRejection)
}
