// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Bound of the client queries over HTTPS in flight, to all servers together, with a share per client.
///
/// A silent server holds each query for seconds, and each transfer costs tens of KiB.  A client can
/// have as many transfers as are free: one client at most half of all, two clients a third each.  So
/// some are free for the next client, without an eviction.
@ServiceLoop
package final class TransferShares {
    private let limit: Int
    private var used = 0
    private var counts: [ClientNetwork?: Int] = [:]

    /// Creates shares of `limit` transfers.
    package init(of limit: Int = UpstreamLimits.transfers) { self.limit = limit }

    /// Occupies a transfer for `client`, nil for the daemon itself; returns false if it has used its
    /// share.
    func begin(_ client: ClientNetwork?) -> Bool {
        let count = counts[client] ?? 0
        guard count < limit - used else { return false }
        used += 1
        counts[client] = count + 1
        return true
    }

    /// Ends a transfer that ``begin(_:)`` has permitted.
    func end(_ client: ClientNetwork?) {
        used -= 1
        let count = (counts[client] ?? 0) - 1
        counts[client] = count > 0 ? count : nil
    }
}
