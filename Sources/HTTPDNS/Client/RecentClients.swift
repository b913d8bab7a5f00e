// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// The two latest DNS clients of a vendor, which show if a vendor has only one client.
///
/// A forged source address counts as a client.
struct RecentClients: Sendable {
    private var last: (client: ClientNetwork, at: Instant)?
    private var former: (client: ClientNetwork, at: Instant)?

    private var latestProven: Instant?
    private var latestUnproven: Instant?

    /// True if `client` must leave a part of a limit to the other kind of clients (proven, or not).
    func mustYield(_ client: ClientNetwork, now: Instant) -> Bool {
        guard let other = client.isProven ? latestUnproven : latestProven else { return false }
        return now - other < ClientLimits.clientMemory
    }

    func hasOthers(than client: ClientNetwork, now: Instant) -> Bool {
        guard let other = last?.client == client ? former : last else { return false }
        return now - other.at < ClientLimits.clientMemory
    }

    mutating func note(_ client: ClientNetwork, now: Instant) {
        if last?.client != client { former = last }
        last = (client, now)
        if client.isProven { latestProven = now } else { latestUnproven = now }
    }
}

// Clients of other processes of this machine, and from the time before a restart, also count.
extension VendorClient {
    func mustYield(_ client: ClientNetwork, _ now: Instant) -> Bool {
        clients.mustYield(client, now: now)
            || budget.storedClients.mustYield(client, wallSeconds: clocks.wallSeconds())
    }

    func hasOthers(than client: ClientNetwork, _ now: Instant) -> Bool {
        clients.hasOthers(than: client, now: now)
            || budget.storedClients.hasOthers(than: client, wallSeconds: clocks.wallSeconds())
    }
}
