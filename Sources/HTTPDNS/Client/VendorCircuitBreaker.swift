// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of a vendor that sends no reply at all, so that new names do not wait for it.
///
/// It opens after as many consecutive timeouts as would have switched through all servers. A
/// timeout counts only if no reply arrived since the try started, and a health probe that started
/// later got no reply either. Any reply closes the breaker.
struct VendorCircuitBreaker: Sendable, Hashable {
    /// Consecutive timeouts that open the breaker, at least 1.
    let limit: Int

    /// Timeouts of clients since the last reply that no probe has confirmed.
    private var suspicions = 0

    /// Confirmed timeouts of clients since the last reply.
    private var tries = 0

    /// Start of the latest probe without a reply; nil if a reply arrived since.
    private var trialBegan: Instant?

    /// Time of the latest reply; nil before the first.
    private var receivedAt: Instant?

    init(limit: Int) {
        self.limit = limit
    }

    /// True if the breaker is open.
    var isSilent: Bool { tries >= limit }

    /// Returns true if any reply arrived after `start`.
    func hasReceived(since start: Instant) -> Bool {
        receivedAt.map { $0 > start } ?? false
    }
}

// MARK: - Events

extension VendorCircuitBreaker {
    /// Records a client's try from `start` that timed out after a fair time.
    mutating func lasted(since start: Instant) {
        guard !hasReceived(since: start) else { return }
        if let trialBegan, start <= trialBegan { tries += 1 } else { suspicions += 1 }
    }

    /// Records that a probe that started at `start` got no reply from any server.
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

    /// Closes the breaker after a network change or on request of the operator.
    mutating func reset() {
        self = VendorCircuitBreaker(limit: limit)
    }
}
