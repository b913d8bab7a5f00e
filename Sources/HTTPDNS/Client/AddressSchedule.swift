// SPDX-License-Identifier: Apache-2.0

/// Times at which the daemon requests server addresses from a vendor's scheduling service.
///
/// A request is due at start, when the addresses expire, after a network change, and soon after all
/// servers failed.
package struct AddressSchedule: Sendable, Hashable {
    private let lifetime: Duration

    private var next: Instant?

    private var latest: Instant?

    private var current: Int?

    package private(set) var count = 0

    package private(set) var failures = 0

    package init(lifetime: Duration = ClientLimits.addressLifetime) {
        self.lifetime = max(lifetime, ClientLimits.refreshPause)
    }

    /// Nil before the start and during a request.
    package var due: Instant? { current == nil ? next : nil }
}

// MARK: - Events

extension AddressSchedule {
    package mutating func start(now: Instant) {
        if next == nil { next = now }
    }

    package mutating func stop() {
        next = nil
        current = nil
    }

    package mutating func began(now: Instant) -> Int {
        count += 1
        current = count
        latest = now
        return count
    }

    /// Returns false if the network changed during the request.
    package mutating func succeeded(
        _ number: Int,
        validFor: Duration?,
        now: Instant
    ) -> Bool {
        guard current == number else { return false }
        current = nil
        failures = 0
        next = now + max(ClientLimits.refreshPause, min(validFor ?? lifetime, lifetime))
        return true
    }

    package mutating func failed(_ number: Int, now: Instant) {
        guard current == number else { return }
        current = nil
        let pause = ClientLimits.refreshPause * (1 << min(failures, 10))
        next = now + min(pause, ClientLimits.longestRefreshPause)
        failures += 1
    }

    package mutating func serversFailed(now: Instant) {
        guard let next else { return }
        let soonest = latest.map { $0 + ClientLimits.refreshPause } ?? now
        self.next = min(next, max(now, soonest))
    }

    package mutating func networkChanged(now: Instant) {
        guard next != nil else { return }
        current = nil
        failures = 0
        next = now
    }
}
