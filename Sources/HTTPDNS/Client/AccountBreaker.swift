// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of an account: blocks calls while the operator paused the vendor or the vendor
/// refuses the account.
///
/// After a refusal, all calls are blocked for five minutes, because further attempts may count
/// against the account. Then one health probe is admitted, which decides.
struct AccountBreaker: Sendable, Hashable {
    /// Reason for a blocked call.
    enum Refusal: Sendable, Hashable {
        /// The operator paused the vendor.
        case byOperator

        /// The vendor refused the account; a probe may start at `until`, or is in flight.
        case byVendor(VendorError, until: Instant)
    }

    /// Refusal by the vendor.
    struct Denial: Sendable, Hashable {
        let error: VendorError
        var until: Instant
        var hasTrial = false
    }

    var isPausedByOperator = false

    /// Latest refusal, also while a probe is due or in flight; nil while the vendor accepts the
    /// account.
    private(set) var denial: Denial?

    /// Returns the reason that blocks a call now; nil if a call may start.
    func refusal(now: Instant) -> Refusal? {
        if isPausedByOperator { return .byOperator }
        guard let denial, denial.hasTrial || now < denial.until else { return nil }
        return .byVendor(denial.error, until: denial.until)
    }

    /// Returns true if the refusal has expired and no probe is in flight yet.
    func isTrialDue(at now: Instant) -> Bool {
        denial.map { !$0.hasTrial && now >= $0.until } ?? false
    }

    func isRefused(at now: Instant) -> Bool {
        denial.map { now < $0.until } ?? false
    }
}

// MARK: - Events

extension AccountBreaker {
    /// Records the start of a health probe that ``refusal(now:)`` admits.
    ///
    /// - Returns: true if the probe also tests the account; its end must then be reported.
    mutating func begin() -> Bool {
        guard denial != nil else { return false }
        denial?.hasTrial = true
        return true
    }

    /// Records that the vendor refuses the account, even with a corrected clock.
    mutating func refused(_ error: VendorError, now: Instant) {
        denial = Denial(error: error, until: now + ClientLimits.refusalPause)
    }

    /// Records a reply of the vendor, which shows that it accepts the account.
    mutating func accepted() {
        denial = nil
    }

    /// Records a probe that ended without a result for the account; the next probe may start.
    mutating func trialEnded() {
        denial?.hasTrial = false
    }

    /// Expires the refusal after a network change: it may have come from a captive portal.
    mutating func networkChanged(now: Instant) {
        guard let denial else { return }
        self.denial = Denial(error: denial.error, until: min(denial.until, now))
    }

    /// Ends the pause and drops the refusal, on request of the operator.
    mutating func resume() {
        isPausedByOperator = false
        denial = nil
    }
}
