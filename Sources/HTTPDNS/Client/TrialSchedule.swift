// SPDX-License-Identifier: Apache-2.0

/// Schedule of health probes, which start at least ``ClientLimits/trialPause`` apart.
///
/// After a failed probe, the next probe can start without this pause, until `burst` probes have
/// failed in a row.
struct TrialSchedule: Sendable, Hashable {
    /// At least 1.
    let burst: Int

    private(set) var isUnderWay = false

    private var failuresInRow = 0

    private var next: Instant?

    init(burst: Int) {
        self.burst = burst
    }

    var wasAnswered: Bool { !isUnderWay && failuresInRow == 0 && next != nil }

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

    mutating func reset() {
        self = TrialSchedule(burst: burst)
    }
}
