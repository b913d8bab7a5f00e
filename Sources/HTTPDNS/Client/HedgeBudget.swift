// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Limit of hedged requests: one for each ``callsPerHedge`` calls of a client, plus `burst`.
///
/// A hedged request is billed like a call, but does not help if all servers are slow. A client that
/// queries only slow names must not use up the limit of other clients. All clients that are not
/// proven have one common limit. A hedged request that is answered before the earlier requests of
/// its call does not count.
struct HedgeBudget: Sendable {
    static let callsPerHedge = 20

    /// Each period of this length counts like one call of the client.
    static let repaymentTime = Duration.seconds(30)

    private let burst: Int

    private struct Debt {
        var calls: Int

        let since: Instant
    }

    private var debts: [ClientNetwork?: Debt] = [:]

    private static let unproven = ClientNetwork(of: .v4(IPv4Address(value: 0)), isProven: false)

    init(burst: Int) { self.burst = burst }

    static func key(_ client: ClientNetwork?) -> ClientNetwork? {
        client.isProven ? client : unproven
    }

    @inline(__always)
    mutating func called(by client: ClientNetwork?) {
        if !debts.isEmpty { repay(Self.key(client)) }
    }

    mutating func refund(_ count: Int, to client: ClientNetwork?) {
        if count > 0 { repay(Self.key(client), count * Self.callsPerHedge) }
    }

    private mutating func repay(_ key: ClientNetwork?, _ calls: Int = 1) {
        guard var debt = debts[key] else { return }
        debt.calls -= calls
        debts[key] = debt.calls > 0 ? debt : nil
    }

    mutating func take(for client: ClientNetwork?, now: Instant) -> Bool {
        let key = Self.key(client)
        let left = debts[key].map { $0.calls - Int((now - $0.since) / Self.repaymentTime) } ?? 0
        let calls = max(0, left) + Self.callsPerHedge
        guard calls <= burst * Self.callsPerHedge else { return false }
        if debts.count >= ClientLimits.countedClients { debts.removeAll() }
        debts[key] = Debt(calls: calls, since: now)
        return true
    }

    mutating func reset() { debts = [:] }

    mutating func takeOver(from old: HedgeBudget) { debts = old.debts }
}
