// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Calls in flight of each DNS client (nil: the daemon itself), and their limits.
///
/// While proven clients use the vendor, all other clients together can have at most half of the
/// calls. Otherwise, queries with forged source addresses could use all calls.
package struct CallShares: Sendable {
    /// Configured maximum (`concurrent-calls`).
    private let most: Int

    /// Maximum number of calls that the vendor seems to accept at the same time.
    private(set) var limit: Int

    private var changedAt: Instant?

    /// Minimum time between two increases of `limit`.
    ///
    /// If the vendor refuses a call between two increases, the time doubles. If the vendor refuses
    /// none, the time falls to a quarter.
    private var pause = ClientLimits.growthPause

    private var hasGrown = false

    private(set) var count = 0

    private var unproven = 0

    private var counts: [ClientNetwork?: Int] = [:]

    /// Clients with large replies, and the time until which they have at most
    /// ``ClientLimits/callsAfterLargeReplies`` in flight.
    private var limitedUntil: [ClientNetwork: Instant] = [:]

    private var firstEnd = Instant(nanoseconds: 0)

    /// True if half of the calls is reserved for proven clients and the daemon.
    var isReserved = false

    init(of calls: Int) { (most, limit) = (calls, calls) }

    var free: Int {
        @inline(__always) get { limit - count }
    }

    /// Returns the number of calls that can begin now for all proven clients, or for all others.
    @inline(__always)
    func free(isProven: Bool) -> Int {
        isReserved && !isProven ? min(free, (limit + 1) / 2 - unproven) : free
    }

    func count(of client: ClientNetwork?) -> Int { counts[client] ?? 0 }

    @inline(__always)
    func admits(_ client: ClientNetwork?) -> Bool {
        admits(client, used: count(of: client), free: free(isProven: client.isProven))
    }

    @inline(__always)
    func admits(_ client: ClientNetwork?, used: Int, free: Int) -> Bool {
        FairShare.half.admits(used: used, free: free)
            && (used < ClientLimits.callsAfterLargeReplies || !isLimited(client))
    }

    @inline(__always)
    private func isLimited(_ client: ClientNetwork?) -> Bool {
        guard !limitedUntil.isEmpty, let client else { return false }
        return limitedUntil[client] != nil
    }

    /// - Parameter octets: size of the reply minus ``ClientLimits/usualReplyOctets`` per name.
    mutating func noteLargeReply(_ octets: Int, of client: ClientNetwork, now: Instant) {
        endLimits(now: now)
        if limitedUntil[client] == nil, limitedUntil.count == ClientLimits.limitedClients {
            let next = limitedUntil.min { $0.value < $1.value }
            if let next { limitedUntil[next.key] = nil }
        }
        let time = Duration.seconds(1) * octets / ClientLimits.largeReplyOctetsPerSecond
        let end = (limitedUntil[client] ?? now) + time
        limitedUntil[client] = min(end, now + ClientLimits.longestCallLimit)
        firstEnd = limitedUntil.values.min() ?? now
    }

    @inline(__always)
    mutating func endLimits(now: Instant) {
        guard !limitedUntil.isEmpty, firstEnd <= now else { return }
        limitedUntil = limitedUntil.filter { $0.value > now }
        firstEnd = limitedUntil.values.min() ?? now
    }

    /// Returns true if `client` gets no further call because of its own calls in flight.
    ///
    /// The result is true only if the client has at least as many calls in flight as all other
    /// clients together; the daemon itself does not count as a client. The result is always false
    /// for an unproven client, because another host can forge the client's address.
    ///
    /// - Parameter more: number to add to the client's calls in flight.
    func isOwnReason(_ client: ClientNetwork?, adding more: Int) -> Bool {
        let used = count(of: client)
        guard used > 0, client.isProven else { return false }
        let others = count - used - (client == nil ? 0 : count(of: nil))
        return used + more >= others
            && !FairShare.half.admits(used: used + more, free: free - more)
    }

    /// Reduces the limit to `calls`, at least 1, after the vendor has refused a further call.
    mutating func reduce(to calls: Int, now: Instant) {
        guard calls <= limit else { return }
        (limit, changedAt) = (max(1, calls), now)
        if hasGrown { pause = min(pause * 2, ClientLimits.longestGrowthPause) }
        hasGrown = false
    }

    /// Raises a reduced limit, at most once per `pause`.
    ///
    /// The caller must call this function when the vendor answers while names are queued.
    mutating func grow(now: Instant) {
        guard limit < most, changedAt.map({ now - $0 >= pause }) ?? true else { return }
        if hasGrown { pause = max(pause / 4, ClientLimits.growthPause) }
        let more = hasGrown ? max(1, limit / 4) : 1
        (limit, changedAt) = (min(limit + more, most), now)
        hasGrown = true
        if limit == most { restore() }
    }

    mutating func restore() {
        (limit, pause, hasGrown) = (most, ClientLimits.growthPause, false)
        limitedUntil = [:]
    }

    mutating func begin(_ client: ClientNetwork?) {
        count += 1
        if !client.isProven { unproven += 1 }
        counts[client, default: 0] += 1
    }

    mutating func end(_ client: ClientNetwork?) {
        count -= 1
        if !client.isProven { unproven -= 1 }
        guard let index = counts.index(forKey: client) else { return }
        if counts.values[index] > 1 {
            counts.values[index] -= 1
        } else {
            counts.remove(at: index)
        }
    }
}

extension ClientNetwork? {
    /// True for a proven client, and for the daemon itself (nil).
    var isProven: Bool { self?.isProven ?? true }
}

extension VendorClient {
    func note(_ client: ClientNetwork, now: Instant) {
        clients.note(client, now: now)
        budget.clients.note(client, wallSeconds: clocks.wallSeconds())
        shares.endLimits(now: now)
        shares.isReserved = client.isProven || mustYield(client, now)
        queue.isReserved = shares.isReserved
    }

    func insert(_ call: VendorCall) {
        guard !call.isInFlight else { return }
        call.index = calls.count
        calls.append(call)
        if !call.isTrial { shares.begin(call.client) }
    }

    func remove(_ call: VendorCall) -> Bool {
        guard let index = call.index else { return false }
        call.index = nil
        let last = calls.removeLast()
        if last !== call {
            calls[index] = last
            last.index = index
        }
        return true
    }

    var counted: [VendorCall] {
        (calls + lingering.filter(\.isExpired)).filter { !$0.isTrial }
    }

    /// Stops counting `call` against `concurrent-calls`, and calls ``release(after:)``.
    func free(_ call: VendorCall) {
        guard !call.isTrial else { return }
        shares.end(call.client)
        release(after: call)
    }
}
