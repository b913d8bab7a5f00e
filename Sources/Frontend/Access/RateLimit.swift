// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks
package import Net

/// Rate limit for UDP clients, against reflection attacks; see `Frontend.md`.
///
/// Loopback addresses and clients with a valid cookie (RFC 7873 §5.2.5) are not limited, because
/// their addresses cannot be forged. Above the limit, half of the queries get no reply; the other
/// half get a truncated reply. A truncated reply is at most 16 octets larger than the query,
/// because it can have a server cookie in addition to the client cookie.
///
/// A keyed hash maps client networks to slots of a table of fixed size. Networks in the same slot
/// share a limit.
package final class RateLimit: Sendable {
    enum Decision {
        case passes

        case truncated

        case dropped
    }

    /// Number of slots in the table, 8 octets each; a power of 2.
    private static let places = 16_384

    /// Length of a burst in nanoseconds.
    ///
    /// In one burst, a client can send as many queries as the limit allows in this time.
    private static let burst: UInt64 = 1_000_000_000

    private let origin: Instant
    private let state: Lock<State>

    private struct State {
        /// For each slot, the time at which a full burst is allowed again: nanoseconds since
        /// `init`.
        var busyUntil = [UInt64](repeating: 0, count: RateLimit.places)

        var excess: UInt64 = 0
    }

    package init(now: Instant) {
        origin = now
        state = Lock(State())
    }

    /// Returns the decision on a query from `address`; thread-safe.
    ///
    /// - Parameter perSecond: maximum queries per second and network, 1 to 1,000,000.
    func decision(
        on address: IPAddress,
        perSecond: Int,
        now: Instant
    ) -> Decision {
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

    /// Returns the slot for a client network: an IPv4 address or an IPv6 /64.
    private static func place(of address: IPAddress) -> Int {
        // `Hasher` has a random seed, so that clients cannot construct collisions.
        var hasher = Hasher()
        switch address.unmapped {
        case .v4(let address): hasher.combine(address.value)
        case .v6(let address): hasher.combine(address.high)
        }
        return hasher.finalize() & (places - 1)
    }
}
