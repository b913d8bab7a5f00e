// SPDX-License-Identifier: Apache-2.0

/// Whether a vendor is asked at all: not while the operator paused it or it refuses the account.
///
/// A refused account is refused by every server, and each attempt may count against it: so after a
/// refusal all calls are spared for five minutes, then one trial passes, and its end decides.
struct AccountGate: Sendable, Hashable {
    /// Why a call is not made.
    enum Refusal: Sendable, Hashable {
        /// The operator paused the vendor.
        case byOperator

        /// The vendor refused the account; a trial may pass at `until`, or one is under way.
        case byVendor(VendorError, until: ContinuousClock.Instant)
    }

    /// What the vendor's refusal left behind; nil while it accepts the account.
    private struct Denial: Sendable, Hashable {
        let error: VendorError
        var until: ContinuousClock.Instant
        var hasTrial = false
    }

    /// Whether the operator wants the vendor left alone.
    var isPausedByOperator = false

    /// The latest refusal.
    private var denial: Denial?

    /// Why a call would not be made now; nil if it would.
    func refusal(now: ContinuousClock.Instant) -> Refusal? {
        if isPausedByOperator { return .byOperator }
        guard let denial, denial.hasTrial || now < denial.until else { return nil }
        return .byVendor(denial.error, until: denial.until)
    }

    /// Whether the vendor's refusal has lasted its time, so that a trial is to find out about it.
    func isTrialDue(at now: ContinuousClock.Instant) -> Bool {
        denial.map { !$0.hasTrial && now >= $0.until } ?? false
    }

    /// Whether the vendor's refusal is in force.
    func isRefused(at now: ContinuousClock.Instant) -> Bool {
        denial.map { now < $0.until } ?? false
    }

    /// The end of the vendor's refusal that is in force or on trial.
    var refusedUntil: ContinuousClock.Instant? { denial?.until }
}

// MARK: - Events

extension AccountGate {
    /// A trial begins that ``refusal(now:)`` did not forbid.
    ///
    /// - Returns: whether it is a trial of the account, whose end must be reported.
    mutating func begin() -> Bool {
        guard denial != nil else { return false }
        denial?.hasTrial = true
        return true
    }

    /// The vendor refuses the account, and no repair of the clock helps.
    mutating func refused(_ error: VendorError, now: ContinuousClock.Instant) {
        denial = Denial(error: error, until: now + ClientLimits.refusalPause)
    }

    /// The vendor answered, so it accepts the account.
    mutating func accepted() {
        denial = nil
    }

    /// A trial ended without telling anything about the account: the next call is one, too.
    mutating func trialEnded() {
        denial?.hasTrial = false
    }

    /// The network is another one: who refused may not have been the vendor (captive portals do).
    mutating func networkChanged(now: ContinuousClock.Instant) {
        guard let denial else { return }
        self.denial = Denial(error: denial.error, until: min(denial.until, now))
    }

    /// The operator wants the vendor asked again, whatever it said.
    mutating func resume() {
        isPausedByOperator = false
        denial = nil
    }
}
