// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of vendor requests per second, with a burst of one second's requests.
///
/// Excess requests are refused, not queued, so that the fallback can answer in time.
struct RateLimiter: Sendable, Hashable {
    let perSecond: Int?

    /// Time at which the full burst is available again.
    private var busyUntil: Instant?

    private var second: Instant?

    private var counts: [ClientNetwork: Int] = [:]

    private var unproven = 0

    init(perSecond: Int?) { self.perSecond = perSecond }

    func forbids(now: Instant) -> Bool {
        guard let perSecond, let busyUntil else { return false }
        return now + .seconds(1) < busyUntil + .seconds(1) / perSecond
    }

    /// Returns true if `client` has reached its limit.
    ///
    /// If `yields`, a quarter of the burst is reserved for the other kind of clients (proven, or
    /// not proven).
    func forbids(_ client: ClientNetwork, yields: Bool, now: Instant) -> Bool {
        guard let perSecond else { return false }
        let isCurrent = second.map { now - $0 < .seconds(1) } ?? false
        let used = isCurrent ? counts[client] ?? 0 : 0
        guard yields else {
            let free = free(perSecond, now)
            return used > 0 && !FairShare.threeQuarters.admits(used: used, free: free)
        }
        return !FairShare.threeQuarters.admits(
            client,
            used: used,
            free: free(perSecond, now),
            reserve: perSecond / 4,
            unproven: isCurrent ? unproven : 0
        )
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
            unproven = 0
        }
        counts[client, default: 0] += 1
        if !client.isProven { unproven += 1 }
    }

    mutating func takeOver(from old: RateLimiter) {
        busyUntil = old.busyUntil
    }
}
