// SPDX-License-Identifier: Apache-2.0
package import Net

package struct FleetStatistics: Sendable, Hashable {
    /// Number of reads of values, for queries and refreshes.
    package var reads: UInt64 = 0

    /// Number of reads that returned a usable value.
    package var found: UInt64 = 0

    package var notFound: UInt64 = 0

    /// Number of vendor calls for which this host had the lease (``FleetLimits/lease``).
    package var led: UInt64 = 0

    /// Number of waits for the vendor call of another host.
    package var waited: UInt64 = 0

    /// Number of waits for another host that ended without an answer.
    package var waitedInVain: UInt64 = 0

    /// Number of answers that this host sent to Redis and to the other hosts.
    package var published: UInt64 = 0

    /// Number of messages of other hosts that contained a usable answer.
    package var received: UInt64 = 0

    /// Number of groups of commands that Redis did not answer in time.
    package var timeouts: UInt64 = 0

    /// Number of ignored values and messages, for each reason.
    package var rejectedByReason: [FleetRejection: UInt64] = [:]

    package var rejected: UInt64 { rejectedByReason.values.reduce(0, +) }

    /// Number of connections lost for a reason other than a timeout.
    ///
    /// A failure of the first connection also counts.
    package var errors: UInt64 = 0
}

/// State of the fleet, for `status`.
package struct FleetState: Sendable, Hashable {
    package var isConnected: Bool

    /// Address of the Redis server; nil while disconnected.
    package var server: SocketAddress?

    /// Time of the latest change of `isConnected`.
    package var since: Instant

    package var lastError: String?

    /// Number of hosts that sent a heartbeat in the last minute; while connected, at least 1.
    package var members: Int
}

/// Event of the fleet that the daemon logs.
package enum FleetNotice: Sendable, Hashable {
    case connected(SocketAddress, after: EngineError?)

    /// Because of this error, this host does not use Redis, and calls the vendors itself.
    case alone(EngineError)

    /// A value or a message was ignored; reported once for each reason.
    case rejected(FleetRejection)
}
