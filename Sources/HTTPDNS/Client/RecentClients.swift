// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The two latest DNS clients of a vendor, which show if a vendor has only one client.
///
/// If a vendor has only one client, this client can use the whole budget and rate. If a vendor has
/// several clients, each client can use at most three quarters (``FairShare``). A forged source
/// address counts as a client.
struct RecentClients: Sendable {
    private var last: (client: ClientNetwork, at: Instant)?
    private var former: (client: ClientNetwork, at: Instant)?

    private var latestProven: Instant?

    /// Returns true if `client` must leave a part of a limit to clients with proven addresses.
    func mustYield(_ client: ClientNetwork, now: Instant) -> Bool {
        guard !client.isProven, let latestProven else { return false }
        return now - latestProven < ClientLimits.clientMemory
    }

    /// Returns true if a client other than `client` used the vendor recently.
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
