// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The two clients that used a vendor last.
///
/// Two recent clients are enough: for any client, at least one of them is a different client.
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
