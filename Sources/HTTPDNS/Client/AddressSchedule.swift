// SPDX-License-Identifier: Apache-2.0

/// When a vendor's scheduling service is asked for servers: events in, an instant out.
///
/// At the start, when the addresses have had their time, at once when the network changes, and soon
/// when all servers fail; never more than one request at a time.  Failures are repeated after a
/// minute, then ever later up to an hour, while the addresses that are known stay in use.
package struct AddressSchedule: Sendable, Hashable {
    /// How long addresses are used at most.
    private let lifetime: Duration

    /// When it is time; nil before the start.
    private var next: ContinuousClock.Instant?

    /// When the latest request began.
    private var latest: ContinuousClock.Instant?

    /// The number of the request under way; nil if there is none.
    private var current: Int?

    /// How many requests were begun.
    package private(set) var count = 0

    /// Failures in a row.
    package private(set) var failures = 0

    /// Makes a schedule that has not begun.
    package init(lifetime: Duration = ClientLimits.addressLifetime) {
        self.lifetime = max(lifetime, ClientLimits.refreshPause)
    }

    /// When to ask; nil before the start, and while a request is under way.
    package var due: ContinuousClock.Instant? { current == nil ? next : nil }
}

// MARK: - Events

extension AddressSchedule {
    /// The client is to be used from now on.
    package mutating func start(now: ContinuousClock.Instant) {
        if next == nil { next = now }
    }

    /// The client is not to be used any more; what is under way reports in vain.
    package mutating func stop() {
        next = nil
        current = nil
    }

    /// A request begins.
    ///
    /// - Returns: its number.
    package mutating func began(now: ContinuousClock.Instant) -> Int {
        count += 1
        current = count
        latest = now
        return count
    }

    /// The request `number` brought addresses.
    ///
    /// - Parameter validFor: how long the vendor wants them used.
    /// - Returns: false if the network changed meanwhile, so that they are for another place.
    package mutating func succeeded(
        _ number: Int,
        validFor: Duration?,
        now: ContinuousClock.Instant
    ) -> Bool {
        guard current == number else { return false }
        current = nil
        failures = 0
        next = now + max(ClientLimits.refreshPause, min(validFor ?? lifetime, lifetime))
        return true
    }

    /// The request `number` brought nothing.
    package mutating func failed(_ number: Int, now: ContinuousClock.Instant) {
        guard current == number else { return }
        current = nil
        let pause = ClientLimits.refreshPause * (1 << min(failures, 10))
        next = now + min(pause, ClientLimits.longestRefreshPause)
        failures += 1
    }

    /// No server answers a call, or one says that others are meant for us.
    package mutating func serversFailed(now: ContinuousClock.Instant) {
        guard let next else { return }
        let soonest = latest.map { $0 + ClientLimits.refreshPause } ?? now
        self.next = min(next, max(now, soonest))
    }

    /// The network is another one, and so may be the nearest servers.
    package mutating func networkChanged(now: ContinuousClock.Instant) {
        guard next != nil else { return }
        current = nil
        failures = 0
        next = now
    }
}
