// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The two clients that used a vendor last.
///
/// Two recent clients are enough: for any client, at least one of them is a different client.
///
/// A client over UDP may have a forged address. Its query has one effect on the other clients: the
/// limit of ``FairShare`` applies to them, also to a client that is in fact alone. That client then
/// keeps three quarters of budget and rate, and the loss does not grow with the number of forged
/// addresses. Most clients never prove their addresses, so if only proven ones counted, one proven
/// client could leave nothing to the others.
struct RecentClients: Sendable {
    private var last: (client: ClientNetwork, at: Instant)?
    private var former: (client: ClientNetwork, at: Instant)?

    /// Returns true if another client than `client` used the vendor within
    /// ``ClientLimits/clientMemory``.
    func hasOthers(than client: ClientNetwork, now: Instant) -> Bool {
        guard let other = last?.client == client ? former : last else { return false }
        return now - other.at < ClientLimits.clientMemory
    }

    /// Records that `client` uses the vendor.
    mutating func note(_ client: ClientNetwork, now: Instant) {
        if last?.client != client { former = last }
        last = (client, now)
    }
}
