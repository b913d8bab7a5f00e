// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Table of values by name, with expiry times; a full table evicts the name that was added first.
struct RecentNames<Value> {
    private let limit: Int
    private var values: [Name: (value: Value, until: Instant)] = [:]
    private var order: [Name] = []
    private var oldest = 0

    init(limit: Int) {
        self.limit = limit
    }

    func value(of name: Name, now: Instant) -> Value? {
        values[name].flatMap { now < $0.until ? $0.value : nil }
    }

    mutating func insert(_ value: Value, of name: Name, until: Instant) {
        if values.updateValue((value, until), forKey: name) != nil { return }
        if order.count < limit {
            order.append(name)
        } else {
            values[order[oldest]] = nil
            order[oldest] = name
            oldest = (oldest + 1) % limit
        }
    }

    mutating func removeAll() {
        values = [:]
        order = []
        oldest = 0
    }
}
