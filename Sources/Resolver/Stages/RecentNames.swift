// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Names remembered for a while, a bounded number of them: when full, the oldest is forgotten.
struct RecentNames {
    private let limit: Int
    private var untils: [Name: ContinuousClock.Instant] = [:]
    private var order: [Name] = []
    private var oldest = 0

    /// A memory for at most `limit` names.
    init(limit: Int) {
        self.limit = limit
    }

    /// Whether `name` is remembered at `now`.
    func contains(_ name: Name, now: ContinuousClock.Instant) -> Bool {
        untils[name].map { now < $0 } ?? false
    }

    /// Remembers `name` until then.
    mutating func insert(_ name: Name, until: ContinuousClock.Instant) {
        if untils.updateValue(until, forKey: name) != nil { return }
        if order.count < limit {
            order.append(name)
        } else {
            untils[order[oldest]] = nil
            order[oldest] = name
            oldest = (oldest + 1) % limit
        }
    }

    /// Forgets all names.
    mutating func removeAll() {
        untils = [:]
        order = []
        oldest = 0
    }
}
