// SPDX-License-Identifier: Apache-2.0

/// Schedule of a vendor's health probes, which look up a name that clients cannot choose.
///
/// One probe is in flight at a time. The next probe may start ``ClientLimits/trialPause`` after the
/// start of the last one, or immediately after fewer than `burst` consecutive failures.
struct TrialSchedule: Sendable, Hashable {
    /// Consecutive failed probes after which probes are rate-limited, at least 1.
    let burst: Int

    /// True while a probe is in flight.
    private(set) var isUnderWay = false

    /// Failed probes since the last answered probe.
    private var failuresInRow = 0

    /// Earliest start of the next probe; nil for any time.
    private var next: Instant?

    init(burst: Int) {
        self.burst = burst
    }

    func isDue(at now: Instant) -> Bool {
        !isUnderWay && next.map { now >= $0 } ?? true
    }
}

// MARK: - Events

extension TrialSchedule {
    mutating func began(at now: Instant) {
        isUnderWay = true
        next = now + ClientLimits.trialPause
    }

    mutating func answered() {
        isUnderWay = false
        failuresInRow = 0
    }

    mutating func failed() {
        isUnderWay = false
        failuresInRow += 1
        if failuresInRow < burst { next = nil }
    }

    /// Resets the schedule after a change of the current server or the network.
    mutating func reset() {
        self = TrialSchedule(burst: burst)
    }
}
