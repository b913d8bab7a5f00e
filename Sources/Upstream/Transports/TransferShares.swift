// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net

/// Limit of client queries in flight over HTTPS (transfers), also per upstream and per client.
///
/// An upstream can start a transfer only if more transfers are free than the upstream has in
/// flight: one of several upstreams occupies at most half of all transfers. A single upstream can
/// occupy all transfers. The same rule applies to the clients of an upstream. Some transfers
/// therefore stay free for the next upstream and client.
@ServiceLoop
package final class TransferShares {
    private struct Upstream {
        var used = 0
        var counts: [ClientNetwork?: Int] = [:]
    }

    private let limit: Int
    private var used = 0
    private var upstreams: [String: Upstream] = [:]

    private var known: Set<String> = []

    package init(of limit: Int = UpstreamLimits.transfers) { self.limit = limit }

    func register(_ upstream: String) { known.insert(upstream) }

    /// Reserves a transfer for `client` at the URL `upstream`; returns false at a limit.
    ///
    /// - Parameter client: nil for the daemon itself.
    func begin(_ client: ClientNetwork?, at upstream: String) -> Bool {
        let transfers = upstreams[upstream] ?? Upstream()
        let count = transfers.counts[client] ?? 0
        let free = limit - (used - transfers.used)
        let share = known.count > 1 ? (free + 1) / 2 : free
        guard count < share - transfers.used else { return false }
        used += 1
        upstreams[upstream, default: transfers].used += 1
        upstreams[upstream]?.counts[client] = count + 1
        return true
    }

    /// Releases a transfer for which ``begin(_:at:)`` returned true.
    func end(_ client: ClientNetwork?, at upstream: String) {
        used -= 1
        guard var transfers = upstreams[upstream] else { return }
        let count = (transfers.counts[client] ?? 0) - 1
        transfers.counts[client] = count > 0 ? count : nil
        transfers.used -= 1
        upstreams[upstream] = transfers.used > 0 ? transfers : nil
    }
}
