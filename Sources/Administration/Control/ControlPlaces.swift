// SPDX-License-Identifier: Apache-2.0

internal import Control

/// Limits of the control socket; a stream is a call with several replies, such as `Watch`.
///
///     connections:  each user except root:        <= perUser
///                   all users except root:        <= total - reserved
///                   all users:                    <= total
///     open streams: each user except root:        <= streamsPerUser
///                   all users except root:        <= streams - reserved
///                   all users:                    <= streams
struct ControlPlaces {
    let total: Int

    /// Number of connections, and also of streams, that are reserved for root.
    var reserved: Int { total / 8 }

    var perUser: Int { max(1, total / 2) }
    var streams: Int { max(1, total / 2) }
    var streamsPerUser: Int { max(1, total / 4) }
    var unsentOctets: Int { 2 * ControlLimits.replyOctets }
    private var connected = Users()
    private var streaming = Users()
    private var unsent = 0
    private static var root: UInt32 { 0 }
    init(total: Int) { self.total = total }

    mutating func connect(_ user: UInt32) -> Bool {
        connected.take(user, most: total, reserved: reserved, perUser: perUser)
    }

    mutating func disconnect(_ user: UInt32) { connected.free(user) }

    mutating func beginStream(_ user: UInt32) -> Bool {
        streaming.take(user, most: streams, reserved: reserved, perUser: streamsPerUser)
    }

    mutating func endStream(_ user: UInt32) { streaming.free(user) }

    mutating func beginReply(_ octets: Int) -> Bool {
        guard unsent + octets <= unsentOctets else { return false }
        unsent += octets
        return true
    }

    mutating func endReply(_ octets: Int) { unsent -= octets }

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
