// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The two DNS clients that used a vendor last.
///
/// Two are enough: for any client, at least one of them is a different client.
///
/// A forged source address counts as a client. A client that is in fact alone then keeps three
/// quarters of budget and rate (``FairShare``). Counting only proven addresses would be worse: most
/// clients never prove their addresses, so one proven client could use up everything.
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
