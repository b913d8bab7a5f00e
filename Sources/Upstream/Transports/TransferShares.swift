// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Limit of client queries in flight over HTTPS to all servers, in total and per client.
///
/// If a server does not answer, each query stays in flight for seconds, and each transfer costs
/// tens of KiB.  A client may start a transfer only if more transfers are free than the client has
/// in flight.  One client alone therefore occupies at most half of all transfers, two clients a
/// third each.  Some transfers stay free for the next client, so that no transfer must be evicted.
@ServiceLoop
package final class TransferShares {
    private let limit: Int
    private var used = 0
    private var counts: [ClientNetwork?: Int] = [:]

    /// Creates the limits for `limit` transfers.
    package init(of limit: Int = UpstreamLimits.transfers) { self.limit = limit }

    /// Occupies a transfer for `client`, nil for the daemon itself; returns false if the client has
    /// reached its limit.
    func begin(_ client: ClientNetwork?) -> Bool {
        let count = counts[client] ?? 0
        guard count < limit - used else { return false }
        used += 1
        counts[client] = count + 1
        return true
    }

    /// Releases a transfer for which ``begin(_:)`` returned true.
    func end(_ client: ClientNetwork?) {
        used -= 1
        let count = (counts[client] ?? 0) - 1
        counts[client] = count > 0 ? count : nil
    }
}
