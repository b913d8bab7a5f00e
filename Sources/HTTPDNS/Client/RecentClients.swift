// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The two latest DNS clients of a vendor: at least one differs from any given client.
///
/// A forged source address counts as a client; a single client then gets three quarters of budget
/// and rate (``FairShare``). Clients whose addresses may be forged leave a part to the others.
struct RecentClients: Sendable {
    private var last: (client: ClientNetwork, at: Instant)?
    private var former: (client: ClientNetwork, at: Instant)?

    private var latestProven: Instant?

    /// Returns true if `client` must leave a part to clients with proven addresses, because such a
    /// client used the vendor within ``ClientLimits/clientMemory``.
    func mustYield(_ client: ClientNetwork, now: Instant) -> Bool {
        guard !client.isProven, let latestProven else { return false }
        return now - latestProven < ClientLimits.clientMemory
    }

    /// Returns true if another client used the vendor within ``ClientLimits/clientMemory``.
    func hasOthers(than client: ClientNetwork, now: Instant) -> Bool {
        guard let other = last?.client == client ? former : last else { return false }
        return now - other.at < ClientLimits.clientMemory
    }

    mutating func note(_ client: ClientNetwork, now: Instant) {
        if last?.client != client { former = last }
        last = (client, now)
        if client.isProven { latestProven = now }
    }
}
