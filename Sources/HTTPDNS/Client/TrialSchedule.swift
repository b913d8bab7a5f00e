// SPDX-License-Identifier: Apache-2.0

/// Decides when a vendor is asked the daemon's own question.
///
/// A client chooses names, and so can choose names that no server answers.  Failures of such names
/// are a suspicion only; a trial, which asks for a name that no client chose, decides.  One trial is
/// under way at a time.  The next one may begin ``ClientLimits/trialPause`` after it began, or at
/// once while trials fail and fewer than `burst` have failed in a row.
struct TrialSchedule: Sendable, Hashable {
    /// Consecutive failed trials without a pause between them, at least 1; further ones
    /// are paced.
    let burst: Int

    /// Whether a trial has begun and not ended.
    private(set) var isUnderWay = false

    /// Failed trials since the last one that was answered.
    private var failuresInRow = 0

    /// When the next trial may begin; nil for at any time.
    private var next: ContinuousClock.Instant?

    /// Makes a schedule of a vendor that nothing is known of.
    init(burst: Int) {
        self.burst = burst
    }

    /// Whether a trial may begin now.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        !isUnderWay && next.map { now >= $0 } ?? true
    }
}

// MARK: - Events

extension TrialSchedule {
    /// A trial begins.
    mutating func began(at now: ContinuousClock.Instant) {
        isUnderWay = true
        next = now + ClientLimits.trialPause
    }

    /// The trial was answered, whatever the answer says.
    mutating func answered() {
        isUnderWay = false
        failuresInRow = 0
    }

    /// No server answered the trial.
    mutating func failed() {
        isUnderWay = false
        failuresInRow += 1
        if failuresInRow < burst { next = nil }
    }

    /// Another server is current, or the network is another one: nothing is known again.
    mutating func reset() {
        self = TrialSchedule(burst: burst)
    }
}
