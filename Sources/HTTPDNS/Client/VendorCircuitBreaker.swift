// SPDX-License-Identifier: Apache-2.0

/// Circuit breaker of a vendor that does not reply; any reply closes the breaker.
///
/// A broken or too large reply does not count as a reply: a vendor can send endless data for one
/// request, and the other requests then time out. Such a reply only shows that the vendor accepts
/// connections.
///
/// A failed request counts only if the vendor sent no reply after the start of this request. A
/// failure to connect counts immediately; a timeout counts only if a later health probe fails.
struct VendorCircuitBreaker: Sendable, Hashable {
    let limit: Int

    private var suspicions = 0

    private var unconnected = 0

    private var tries = 0

    private var trialBegan: Instant?

    private var receivedAt: Instant?

    init(limit: Int) {
        self.limit = limit
    }

    var isSilent: Bool { unconnected + tries >= limit }

    var hasFailedProbe: Bool { trialBegan != nil }

    func hasReceived(since start: Instant) -> Bool {
        receivedAt.map { $0 > start } ?? false
    }
}

// MARK: - Events

extension VendorCircuitBreaker {
    mutating func lasted(since start: Instant) {
        guard !hasReceived(since: start) else { return }
        if let trialBegan, start <= trialBegan { tries += 1 } else { suspicions += 1 }
    }

    mutating func didNotConnect(since start: Instant) {
        if !hasReceived(since: start) { unconnected += 1 }
    }

    mutating func connected() { unconnected = 0 }

    mutating func confirmed(since start: Instant) {
        guard !hasReceived(since: start) else { return }
        tries += suspicions
        suspicions = 0
        trialBegan = start
    }

    mutating func heard(at now: Instant) {
        reset()
        receivedAt = now
    }

    mutating func reset() {
        self = VendorCircuitBreaker(limit: limit)
    }
}
