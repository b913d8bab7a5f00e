// SPDX-License-Identifier: Apache-2.0

internal import Control

/// Places on the control socket: bounds in total and for each user, with some kept for root and for
/// calls that are answered at once.
///
///     connections of a user other than root <= perUser, of all of them <= total - reserved
///     streams of a user other than root <= streamsPerUser, of all of them <= streams - reserved
///     connections <= total, streams <= streams < total
///
/// A stream is a call that takes several replies and may stay open for days, such as `Watch`.  So a
/// connection is left for a call with one reply when all streams are taken, and for root when all
/// other users have what they may have.
struct ControlPlaces {
    /// Connections at the same time.
    let total: Int

    /// Connections and streams that only root gets.
    var reserved: Int { total / 8 }

    /// Connections of one user other than root.
    var perUser: Int { max(1, total / 2) }

    /// Streams at the same time.
    var streams: Int { max(1, total / 2) }

    /// Streams of one user other than root.
    var streamsPerUser: Int { max(1, total / 4) }

    /// Octets of replies that clients have not taken yet, of all connections.
    var unsentOctets: Int { 2 * ControlLimits.replyOctets }

    private var connected = Users()
    private var streaming = Users()
    private var unsent = 0

    private static var root: UInt32 { 0 }

    /// Makes places for `total` connections, at least one.
    init(total: Int) { self.total = total }

    /// Takes a place for a connection of `user`, if there is one.
    mutating func connect(_ user: UInt32) -> Bool {
        connected.take(user, most: total, reserved: reserved, perUser: perUser)
    }

    /// Frees the place of a connection.
    mutating func disconnect(_ user: UInt32) { connected.free(user) }

    /// Takes a place for a stream of `user`, if there is one.
    mutating func beginStream(_ user: UInt32) -> Bool {
        streaming.take(user, most: streams, reserved: reserved, perUser: streamsPerUser)
    }

    /// Frees the place of a stream.
    mutating func endStream(_ user: UInt32) { streaming.free(user) }

    /// Takes memory for a reply of `octets`, if there is any left.
    mutating func beginReply(_ octets: Int) -> Bool {
        guard unsent + octets <= unsentOctets else { return false }
        unsent += octets
        return true
    }

    /// Frees the memory of a reply that was sent or given up.
    mutating func endReply(_ octets: Int) { unsent -= octets }

    /// Places that are taken, by user.
    private struct Users {
        private var taken: [UInt32: Int] = [:]
        private var total = 0

        mutating func take(_ user: UInt32, most: Int, reserved: Int, perUser: Int) -> Bool {
            let others = total - taken[ControlPlaces.root, default: 0]
            let isRoot = user == ControlPlaces.root
            let mayTake = others < most - reserved && taken[user, default: 0] < perUser
            guard total < most, isRoot || mayTake else { return false }
            taken[user, default: 0] += 1
            total += 1
            return true
        }

        mutating func free(_ user: UInt32) {
            guard let count = taken[user] else { return }
            taken[user] = count > 1 ? count - 1 : nil
            total -= 1
        }
    }
}
