// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Locks
package import Net

/// Rate limit for UDP clients, against reflection attacks (`Frontend.md`).
///
/// Clients with a valid cookie (RFC 7873 §5.2.5) are not limited. Above the limit, half of the
/// queries get no reply, and half get a truncated reply.
///
/// A keyed hash maps client networks to slots. Networks in the same slot share a limit.
package final class RateLimit: Sendable {
    enum Decision {
        case passes

        case truncated

        case dropped
    }

    /// A power of 2; a slot has 8 octets.
    private static let places = 16_384

    /// Length of a burst in nanoseconds.
    private static let burst: UInt64 = 1_000_000_000

    private let origin: Instant
    private let state: Lock<State>

    private struct State {
        /// Per slot: time in nanoseconds since `init` at which a full burst is allowed again.
        var busyUntil = [UInt64](repeating: 0, count: RateLimit.places)

        var excess: UInt64 = 0
    }

    package init(now: Instant) {
        origin = now
        state = Lock(State())
    }

    /// Decides on a query at a limit of `perSecond`, 1 to 1,000,000; thread-safe.
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

    private static func place(of address: IPAddress) -> Int {
        // `Hasher` has a random seed.
        var hasher = Hasher()
        switch address.unmapped {
        case .v4(let address): hasher.combine(address.value)
        case .v6(let address): hasher.combine(address.high)
        }
        return hasher.finalize() & (places - 1)
    }
}
