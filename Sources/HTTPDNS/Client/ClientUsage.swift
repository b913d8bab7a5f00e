// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

struct ClientUsage: Sendable {
    private var amounts: [ClientNetwork: UsageAmount] = [:]

    private(set) var unproven = UsageAmount.none

    var count: Int { amounts.count }

    subscript(client: ClientNetwork) -> UsageAmount { amounts[client] ?? .none }

    /// If the table is full, first removes clients with few calls.
    mutating func add(_ cost: UsageAmount, of client: ClientNetwork) {
        if amounts.count >= ClientLimits.countedClients, amounts[client] == nil {
            let sum = amounts.values.reduce(0) { $0 + $1.calls }
            let mean = sum / UInt64(amounts.count)
            amounts = amounts.filter { $0.value.calls > mean }
        }
        amounts[client] = self[client] + cost
        if !client.isProven { unproven = unproven + cost }
    }

    mutating func remove(_ unused: UsageAmount, of client: ClientNetwork) {
        guard let own = amounts[client] else { return }
        if !client.isProven { unproven = unproven.less(unused) }
        let rest = own.less(unused)
        amounts[client] = rest == .none ? nil : rest
    }
}
