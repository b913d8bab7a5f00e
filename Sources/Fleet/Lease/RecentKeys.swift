// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Recently used names and their keys; in a full table, a new key replaces the oldest key.
struct RecentKeys {
    struct Subject {
        let name: Name
        let view: String

        /// Time of the newest value that this host accepted; older values are ignored.
        var fetchedAt: Int64?
    }

    private let limit: Int
    private var subjects: [FleetKey: Subject] = [:]
    private var order: [FleetKey] = []
    private var oldest = 0
    init(limit: Int) { self.limit = limit }
    subscript(key: FleetKey) -> Subject? { subjects[key] }

    mutating func note(_ key: FleetKey, _ subject: Subject) {
        guard subjects[key] == nil else { return }
        subjects[key] = subject
        if order.count < limit {
            order.append(key)
        } else {
            subjects[order[oldest]] = nil
            order[oldest] = key
            oldest = (oldest + 1) % limit
        }
    }

    mutating func note(_ key: FleetKey, fetchedAt: Int64) { subjects[key]?.fetchedAt = fetchedAt }
}
