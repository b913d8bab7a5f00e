// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of vendor requests per second, with a burst of one second's requests.
///
/// Excess requests are refused, not queued, so that the fallback can answer in time.
struct RateLimiter: Sendable, Hashable {
    let perSecond: Int?

    /// Time at which the full burst is available again.
    private var busyUntil: Instant?

    /// Start of the second that `counts` covers.
    private var second: Instant?

    private var counts: [ClientNetwork: Int] = [:]

    init(perSecond: Int?) { self.perSecond = perSecond }

    func forbids(now: Instant) -> Bool {
        guard let perSecond, let busyUntil else { return false }
        return now + .seconds(1) < busyUntil + .seconds(1) / perSecond
    }

    /// Returns true if `client` has reached its limit; other clients can still cause requests.
    ///
    /// If `yields`, a quarter of the burst is reserved for clients with proven addresses. The
    /// reservation makes the bursts of `client` smaller, but does not change its average rate.
    func forbids(_ client: ClientNetwork, yields: Bool, now: Instant) -> Bool {
        guard let perSecond else { return false }
        let free = free(perSecond, now) - (yields ? perSecond / 4 : 0)
        let isCurrent = second.map { now - $0 < .seconds(1) } ?? false
        let used = isCurrent ? counts[client] ?? 0 : 0
        return used == 0 && !yields
            ? false : !FairShare.threeQuarters.admits(used: used, free: free)
    }

    private func free(_ perSecond: Int, _ now: Instant) -> Int {
        guard let busyUntil else { return perSecond }
        let unpaid = max(.zero, busyUntil - now) / .seconds(1) * Double(perSecond)
        return perSecond - Int(unpaid.rounded())
    }
}

// MARK: - Events

extension RateLimiter {
    mutating func spend(by client: ClientNetwork? = nil, now: Instant) {
        guard let perSecond else { return }
        busyUntil = max(busyUntil ?? now, now) + .seconds(1) / perSecond
        guard let client else { return }
        if second.map({ now - $0 >= .seconds(1) }) ?? true {
            second = now
            counts.removeAll(keepingCapacity: true)
        }
        counts[client, default: 0] += 1
    }

    mutating func takeOver(from old: RateLimiter) {
        busyUntil = old.busyUntil
    }
}
