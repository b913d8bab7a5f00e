// SPDX-License-Identifier: Apache-2.0
internal import Monotonic

/// Clients or questions that delayed other queries to a server in the last
/// ``UpstreamLimits/sharingTime``.
struct RecentKeys<Key: Hashable> {
    private var ends: [Key: Instant] = [:]

    func contains(_ key: Key, at now: Instant) -> Bool {
        !ends.isEmpty && ends[key].map { now < $0 } ?? false
    }

    mutating func add(_ key: Key, at now: Instant) {
        ends[key] = now + UpstreamLimits.sharingTime
        guard ends.count > UpstreamLimits.recentKeys else { return }
        ends = ends.filter { now < $0.value }
        guard ends.count > UpstreamLimits.recentKeys else { return }
        ends.remove(at: ends.startIndex)
    }
}
