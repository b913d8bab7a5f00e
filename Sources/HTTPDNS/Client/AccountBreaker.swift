// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of a vendor account; opens if the operator pauses the vendor, or if all servers
/// refuse the account.
///
/// After a refusal, the breaker stays open for some minutes, because the vendor may penalize
/// further attempts.
struct AccountBreaker: Sendable, Hashable {
    enum Refusal: Sendable, Hashable {
        case byOperator

        /// Before `until`, no probe starts. If `until` has passed, a probe is in flight.
        case byVendor(VendorError, until: Instant)
    }

    struct Denial: Sendable, Hashable {
        let error: VendorError
        var until: Instant
        var hasTrial = false
    }

    var isPausedByOperator = false

    private(set) var denial: Denial?

    func refusal(now: Instant) -> Refusal? {
        if isPausedByOperator { return .byOperator }
        guard let denial, denial.hasTrial || now < denial.until else { return nil }
        return .byVendor(denial.error, until: denial.until)
    }

    func isTrialDue(at now: Instant) -> Bool {
        denial.map { !$0.hasTrial && now >= $0.until } ?? false
    }

    func isRefused(at now: Instant) -> Bool {
        denial.map { now < $0.until } ?? false
    }
}

// MARK: - Events

extension AccountBreaker {
    /// Records the start of a probe; returns true if the probe tests a refused account.
    mutating func begin() -> Bool {
        guard denial != nil else { return false }
        denial?.hasTrial = true
        return true
    }

    mutating func refused(_ error: VendorError, for pause: Duration, now: Instant) {
        denial = Denial(error: error, until: now + pause)
    }

    mutating func accepted() {
        denial = nil
    }

    mutating func trialEnded() {
        denial?.hasTrial = false
    }

    /// Ends the back-off, because a captive portal may have sent the refusal.
    mutating func networkChanged(now: Instant) {
        guard let denial else { return }
        self.denial = Denial(error: denial.error, until: min(denial.until, now))
    }

    mutating func resume() {
        isPausedByOperator = false
        denial = nil
    }
}
