// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of hedged requests: one for each ``callsPerHedge`` calls of a client, after a burst.
///
/// A hedged request is billed like a call. If all servers are slow, it does not help, but without a
/// limit, each name would cost two calls. The limit applies to each client, because a client can
/// query slow names. All clients without a proven address have one common limit.
///
/// Each hedged request adds ``callsPerHedge`` to the debt of its client, and each call subtracts 1.
/// The debt is at most `burst` × ``callsPerHedge``. So of n calls of a client, at most
/// `burst` + n / ``callsPerHedge`` have a hedged request.
struct HedgeBudget: Sendable {
    static let callsPerHedge = 20

    private let burst: Int

    /// Debts above 0.
    private var debts: [ClientNetwork?: Int] = [:]

    private static let unproven = ClientNetwork(of: .v4(IPv4Address(value: 0)), isProven: false)

    init(burst: Int) { self.burst = burst }

    private static func key(_ client: ClientNetwork?) -> ClientNetwork? {
        client.isProven ? client : unproven
    }

    @inline(__always)
    mutating func called(by client: ClientNetwork?) {
        if !debts.isEmpty { repay(Self.key(client)) }
    }

    private mutating func repay(_ key: ClientNetwork?) {
        guard let debt = debts[key] else { return }
        debts[key] = debt > 1 ? debt - 1 : nil
    }

    /// Returns true if the client may send a hedged request, and counts this request.
    mutating func take(for client: ClientNetwork?) -> Bool {
        let key = Self.key(client)
        let debt = (debts[key] ?? 0) + Self.callsPerHedge
        guard debt <= burst * Self.callsPerHedge else { return false }
        // Without debts, no client has more than a new client: the whole burst.
        if debts.count >= ClientLimits.countedClients { debts.removeAll() }
        debts[key] = debt
        return true
    }

    mutating func takeOver(from old: HedgeBudget) { debts = old.debts }
}
