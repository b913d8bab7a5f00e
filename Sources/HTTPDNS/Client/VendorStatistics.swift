// SPDX-License-Identifier: Apache-2.0
package import Net

/// What a vendor client has done since it was made.
package struct VendorStatistics: Sendable, Hashable {
    /// Look-ups; each ends as one of `successes`, `empty`, `failures` or `cancelled`, or runs on.
    package var calls: UInt64 = 0

    /// Look-ups that brought an address.
    package var successes: UInt64 = 0

    /// Look-ups that brought an answer without any address.
    package var empty: UInt64 = 0

    /// Look-ups that brought nothing.
    package var failures: UInt64 = 0

    /// Look-ups that were given up by the one who asked.
    package var cancelled: UInt64 = 0

    /// Requests sent; more than `calls` when servers fail.
    package var tries: UInt64 = 0

    /// Requests that may be on the bill: all but those that surely reached nobody or were refused.
    package var billable: UInt64 = 0

    /// Tries that brought no answer, by kind.
    package var failuresByKind: [VendorError.Kind: UInt64] = [:]

    /// Addresses left out of answers as unusable or unreadable.
    package var droppedAddresses: UInt64 = 0

    /// Replies that came over a new connection.
    package var connectionsOpened: UInt64 = 0

    /// Replies that came over a connection that was already open.
    package var connectionsReused: UInt64 = 0

    /// How often another server became current.
    package var switches: UInt64 = 0

    /// The servers in the order of the settings.
    package var servers: [ServerStatistics]

    init(servers: [SocketAddress]) {
        self.servers = servers.map { ServerStatistics(address: $0) }
    }
}

/// What became of the tries on one server.
package struct ServerStatistics: Sendable, Hashable {
    /// The server.
    package let address: SocketAddress

    /// Requests sent to it.
    package var tries: UInt64 = 0

    /// Requests it gave no usable answer to.
    package var failures: UInt64 = 0

    /// Failures since its latest answer.
    package var failuresInRow: UInt64 = 0

    /// Its latest failure, however long ago.
    package var lastError: VendorError?

    /// How long half of its replies took at most; nil before the first.
    package var medianLatency: Duration?

    /// Whether it is the one that is asked first.
    package var isCurrent = false

    init(address: SocketAddress) {
        self.address = address
    }
}
