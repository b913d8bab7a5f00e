// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Monotonic

/// Clients that had an overdue query at a server in the last ``UpstreamLimits/sharingTime``.
struct SlowClients {
    private var ends: [ClientNetwork?: Instant] = [:]

    func contains(_ client: ClientNetwork?, at now: Instant) -> Bool {
        !ends.isEmpty && ends[client].map { now < $0 } ?? false
    }

    mutating func add(_ client: ClientNetwork?, at now: Instant) {
        ends[client] = now + UpstreamLimits.sharingTime
        guard ends.count > UpstreamLimits.slowClients else { return }
        ends = ends.filter { now < $0.value }
        guard ends.count > UpstreamLimits.slowClients else { return }
        ends.remove(at: ends.startIndex)
    }
}
