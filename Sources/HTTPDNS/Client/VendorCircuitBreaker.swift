// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of a vendor that sends no reply at all.
///
/// It opens after as many consecutive timeouts as would have switched through all servers. A
/// timeout counts only if no reply arrived since the request started, and a health probe that
/// started later got no reply either. Any reply closes the breaker.
struct VendorCircuitBreaker: Sendable, Hashable {
    /// Timeouts that open the breaker, at least 1.
    let limit: Int

    /// Timeouts since the latest reply that no probe confirmed.
    private var suspicions = 0

    /// Confirmed timeouts since the latest reply.
    private var tries = 0

    /// Start of the latest probe without a reply.
    private var trialBegan: Instant?

    /// Time of the latest reply.
    private var receivedAt: Instant?

    init(limit: Int) {
        self.limit = limit
    }

    /// True if the breaker is open.
    var isSilent: Bool { tries >= limit }

    /// Returns true if a reply arrived after `start`.
    func hasReceived(since start: Instant) -> Bool {
        receivedAt.map { $0 > start } ?? false
    }
}

// MARK: - Events

extension VendorCircuitBreaker {
    /// Records the timeout of a client's request that had a fair time.
    mutating func lasted(since start: Instant) {
        guard !hasReceived(since: start) else { return }
        if let trialBegan, start <= trialBegan { tries += 1 } else { suspicions += 1 }
    }

    /// Records a probe from `start` without any reply.
    mutating func confirmed(since start: Instant) {
        guard !hasReceived(since: start) else { return }
        tries += suspicions
        suspicions = 0
        trialBegan = start
    }

    /// Records a reply with any content.
    mutating func heard(at now: Instant) {
        reset()
        receivedAt = now
    }

    /// Closes the breaker.
    mutating func reset() {
        self = VendorCircuitBreaker(limit: limit)
    }
}
