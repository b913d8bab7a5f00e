// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of vendor requests per second; allows a burst of one second's requests.
///
/// Further requests are refused, not queued, so that the fallback can answer in time.
struct RateLimiter: Sendable, Hashable {
    let perSecond: Int?

    /// Time until which the requests so far fill the configured rate.
    private var busyUntil: Instant?

    /// Start of the second that `counts` covers.
    private var second: Instant?

    private var counts: [ClientNetwork: Int] = [:]

    init(perSecond: Int?) { self.perSecond = perSecond }

    func forbids(now: Instant) -> Bool {
        guard let perSecond, let busyUntil else { return false }
        return now + .seconds(1) < busyUntil + .seconds(1) / perSecond
    }

    func forbids(_ client: ClientNetwork, now: Instant) -> Bool {
        guard let perSecond, let busyUntil, let second, now - second < .seconds(1),
            let used = counts[client]
        else { return false }
        let unpaid = max(.zero, busyUntil - now) / .seconds(1) * Double(perSecond)
        let free = perSecond - Int(unpaid.rounded())
        return !FairShare.threeQuarters.admits(used: used, free: free)
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
