// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Latest DNS clients of a vendor, with wall-clock times, so that a restart does not forget them.
///
/// ``RecentClients`` has the same facts about the current process, with monotonic times. A stored
/// time in the future counts as now, so that a wrong clock does not end the limits on clients.
package struct StoredClients: Sendable, Hashable {
    /// Latest client, as ``DNSWire/ClientNetwork/number``.
    package private(set) var last: UInt64 = 0

    /// Latest use by any client other than `last`; times are seconds since 1970, 0 for never.
    package private(set) var othersAt: Int64 = 0

    package private(set) var provenAt: Int64 = 0
    package private(set) var unprovenAt: Int64 = 0

    package init() {}

    package init(last: UInt64, othersAt: Int64, provenAt: Int64, unprovenAt: Int64) {
        self.last = last
        self.othersAt = othersAt
        self.provenAt = provenAt
        self.unprovenAt = unprovenAt
    }

    private var lastAt: Int64 { max(provenAt, unprovenAt) }

    /// The result has the same meaning as the result of ``RecentClients/mustYield(_:now:)``.
    func mustYield(_ client: ClientNetwork, wallSeconds: Int64) -> Bool {
        Self.isRecent(client.isProven ? unprovenAt : provenAt, wallSeconds)
    }

    func hasOthers(than client: ClientNetwork, wallSeconds: Int64) -> Bool {
        Self.isRecent(last == client.number ? othersAt : lastAt, wallSeconds)
    }

    private static func isRecent(_ time: Int64, _ wallSeconds: Int64) -> Bool {
        time > 0 && wallSeconds - time < ClientLimits.clientMemory.components.seconds
    }

    mutating func note(_ client: ClientNetwork, wallSeconds: Int64) {
        let now = max(1, wallSeconds)
        endFuture(now)
        if last != client.number { (last, othersAt) = (client.number, lastAt) }
        if client.isProven { provenAt = now } else { unprovenAt = now }
    }

    /// Adds the clients of one process to the clients of all processes.
    mutating func add(_ own: StoredClients, wallSeconds: Int64) {
        guard own.lastAt > 0 else { return }
        var own = own
        let now = max(1, wallSeconds)
        own.endFuture(now)
        endFuture(now)
        if own.last == last {
            othersAt = max(othersAt, own.othersAt)
        } else if own.lastAt >= lastAt {
            (last, othersAt) = (own.last, max(own.othersAt, lastAt))
        } else {
            othersAt = max(othersAt, own.lastAt)
        }
        provenAt = max(provenAt, own.provenAt)
        unprovenAt = max(unprovenAt, own.unprovenAt)
    }

    /// Without this change, a wrong clock could limit a single client for years.
    private mutating func endFuture(_ now: Int64) {
        othersAt = min(othersAt, now)
        provenAt = min(provenAt, now)
        unprovenAt = min(unprovenAt, now)
    }
}
