// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The two latest DNS clients of a vendor: at least one differs from any given client.
///
/// A forged source address also counts as a client: the only real client may then get just three
/// quarters of budget and rate (``FairShare``).
struct RecentClients: Sendable {
    private var last: (client: ClientNetwork, at: Instant)?
    private var former: (client: ClientNetwork, at: Instant)?

    /// Returns true if another client used the vendor within ``ClientLimits/clientMemory``.
    func hasOthers(than client: ClientNetwork, now: Instant) -> Bool {
        guard let other = last?.client == client ? former : last else { return false }
        return now - other.at < ClientLimits.clientMemory
    }

    mutating func note(_ client: ClientNetwork, now: Instant) {
        if last?.client != client { former = last }
        last = (client, now)
    }
}
