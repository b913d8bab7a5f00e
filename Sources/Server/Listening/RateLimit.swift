// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks

/// How often a network may be answered over UDP that has not proven to be where it says it is.
///
/// A query with a forged address makes us send to somebody who never asked, and more than he who
/// forged it has sent.  Beyond so many a second each other query gets no answer, and those between
/// get an empty one with TC set: that is no larger than the query, and an honest client asks again
/// over TCP, which nobody can forge.  A cookie proves as much (RFC 7873 §5.2.5), and whoever has one
/// is not counted; neither is this machine, whose addresses the kernel takes from nowhere else.
///
/// Networks have a place each in a table that never grows, by a hash that nobody outside can
/// predict.  Two that meet there share what is for one; that costs something only while somebody
/// floods in the name of the other.
final class RateLimit: Sendable {
    /// What happens to a query.
    enum Verdict {
        case passes

        /// It gets an empty answer that sends its client to TCP.
        case truncated

        /// It gets none.
        case dropped
    }

    /// Places of the table, 8 octets each; a power of 2.
    private static let places = 16_384

    /// Nanoseconds a network may be ahead of its rate: it may ask as much at once as in a second.
    private static let burst: UInt64 = 1_000_000_000

    private let origin: ContinuousClock.Instant
    private let state: Lock<State>

    /// The table, and what it turned away.
    private struct State {
        /// When each network will have used up what it was answered, in nanoseconds since `origin`.
        var busyUntil = [UInt64](repeating: 0, count: RateLimit.places)

        var excess: UInt64 = 0
    }

    /// A limit that nobody has come near to.
    init(now: ContinuousClock.Instant) {
        origin = now
        state = Lock(State())
    }

    /// What happens to a query from `address`, of whose network so many a second are answered.
    ///
    /// From any thread.
    ///
    /// - Parameter perSecond: from 1 to a million.
    func verdict(
        on address: IPAddress,
        perSecond: Int,
        now: ContinuousClock.Instant
    ) -> Verdict {
        if address.isLoopback { return .passes }
        let place = Self.place(of: address)
        let (seconds, attoseconds) = (now - origin).components
        let time =
            UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000
        let share = Self.burst / UInt64(perSecond)
        return state.withLock { state in
            let end = max(state.busyUntil[place], time) + share
            guard end - time <= Self.burst else {
                state.excess += 1
                return state.excess.isMultiple(of: 2) ? .dropped : .truncated
            }
            state.busyUntil[place] = end
            return .passes
        }
    }

    /// The place of the network: an IPv4 address, or the 64 bits that one IPv6 link has.
    private static func place(of address: IPAddress) -> Int {
        // Its seed is another one in each process.
        var hasher = Hasher()
        switch address.unmapped {
        case .v4(let address): hasher.combine(address.value)
        case .v6(let address): hasher.combine(address.high)
        }
        return hasher.finalize() & (places - 1)
    }
}
