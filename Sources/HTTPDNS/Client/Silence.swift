// SPDX-License-Identifier: Apache-2.0

/// Whether anything is heard of a vendor at all.
///
/// A vendor none of whose servers answers costs each new name its whole time, seconds, before somebody
/// else is asked.  So after as many silent tries in a row as would have moved on from every server,
/// nobody waits for it who has a choice; one look-up a second is its trial, beside what the client gets
/// elsewhere.  Anything that is heard ends that.
struct Silence: Sendable, Hashable {
    /// Silent tries in a row that make it one, at least 1.
    let limit: Int

    /// Silent tries since something was heard.
    private var tries = 0

    /// When the next trial may begin; nil before the first.
    private var trialAt: ContinuousClock.Instant?

    /// Makes one of a vendor that has just been heard of.
    init(limit: Int) {
        self.limit = limit
    }

    /// Whether nobody should wait for the vendor.
    var isSilent: Bool { tries >= limit }

    /// Whether a trial would begin now.
    func isTrialDue(at now: ContinuousClock.Instant) -> Bool {
        trialAt.map { now >= $0 } ?? true
    }

    /// Whether a trial begins now.
    mutating func beginsTrial(at now: ContinuousClock.Instant) -> Bool {
        guard isTrialDue(at: now) else { return false }
        trialAt = now + ClientLimits.trialPause
        return true
    }

    /// A try has had a fair time and heard nothing.
    mutating func lasted() { tries += 1 }

    /// Something was heard, or the network is another one.
    mutating func ended() {
        tries = 0
        trialAt = nil
    }
}
