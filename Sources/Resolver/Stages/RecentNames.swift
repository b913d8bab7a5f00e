// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// What is remembered of names for a while, of a bounded number: when full, the oldest is forgotten.
struct RecentNames<Value> {
    private let limit: Int
    private var values: [Name: (value: Value, until: ContinuousClock.Instant)] = [:]
    private var order: [Name] = []
    private var oldest = 0

    /// A memory for at most `limit` names.
    init(limit: Int) {
        self.limit = limit
    }

    /// What is remembered of `name` at `now`; nil if nothing is.
    func value(of name: Name, now: ContinuousClock.Instant) -> Value? {
        values[name].flatMap { now < $0.until ? $0.value : nil }
    }

    /// Remembers this of `name` until then.
    mutating func insert(_ value: Value, of name: Name, until: ContinuousClock.Instant) {
        if values.updateValue((value, until), forKey: name) != nil { return }
        if order.count < limit {
            order.append(name)
        } else {
            values[order[oldest]] = nil
            order[oldest] = name
            oldest = (oldest + 1) % limit
        }
    }

    /// Forgets all names.
    mutating func removeAll() {
        values = [:]
        order = []
        oldest = 0
    }
}
