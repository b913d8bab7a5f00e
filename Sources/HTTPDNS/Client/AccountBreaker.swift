// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of an account, opened by the operator's pause or by a refusal of the vendor.
///
/// A refusal blocks all calls for five minutes, because further attempts may count against the
/// account. Then one health probe decides.
struct AccountBreaker: Sendable, Hashable {
    enum Refusal: Sendable, Hashable {
        case byOperator

        /// The vendor refused the account; a probe may start at `until`, or is in flight.
        case byVendor(VendorError, until: Instant)
    }

    struct Denial: Sendable, Hashable {
        let error: VendorError
        var until: Instant
        var hasTrial = false
    }

    var isPausedByOperator = false

    /// Latest refusal, kept until the vendor accepts the account again.
    private(set) var denial: Denial?

    /// Returns the reason that blocks a call now, if any.
    func refusal(now: Instant) -> Refusal? {
        if isPausedByOperator { return .byOperator }
        guard let denial, denial.hasTrial || now < denial.until else { return nil }
        return .byVendor(denial.error, until: denial.until)
    }

    /// Returns true if a probe of the account may start.
    func isTrialDue(at now: Instant) -> Bool {
        denial.map { !$0.hasTrial && now >= $0.until } ?? false
    }

    func isRefused(at now: Instant) -> Bool {
        denial.map { now < $0.until } ?? false
    }
}

// MARK: - Events

extension AccountBreaker {
    /// Records the start of a health probe; returns true if it also tests the account.
    mutating func begin() -> Bool {
        guard denial != nil else { return false }
        denial?.hasTrial = true
        return true
    }

    /// Records a refusal that a clock correction did not prevent.
    mutating func refused(_ error: VendorError, now: Instant) {
        denial = Denial(error: error, until: now + ClientLimits.refusalPause)
    }

    /// Records that the vendor accepts the account.
    mutating func accepted() {
        denial = nil
    }

    /// Records a probe without a result for the account; the next probe may start.
    mutating func trialEnded() {
        denial?.hasTrial = false
    }

    /// Ends the back-off after a network change: a captive portal may have sent the refusal.
    mutating func networkChanged(now: Instant) {
        guard let denial else { return }
        self.denial = Denial(error: denial.error, until: min(denial.until, now))
    }

    /// Ends the operator's pause and the back-off.
    mutating func resume() {
        isPausedByOperator = false
        denial = nil
    }
}
