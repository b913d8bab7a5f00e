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
    private final class Upstream {
        let url: String
        var used = 0
        var counts: [ClientNetwork?: Int] = [:]

        init(_ url: String) { self.url = url }
    }

    private let limit: Int
    private var used = 0
    private var upstreams: [String: Upstream] = [:]

    /// Upstream of the latest transfer; a comparison is faster than a hash.
    private var latest: Upstream?

    package init(of limit: Int = UpstreamLimits.transfers) { self.limit = limit }

    func register(_ upstream: String) { _ = find(upstream) }

    private func find(_ url: String) -> Upstream {
        if let latest, latest.url == url { return latest }
        let found = upstreams[url] ?? Upstream(url)
        upstreams[url] = found
        latest = found
        return found
    }

    /// Reserves a transfer for `client` at the URL `upstream`; returns false at a limit.
    ///
    /// - Parameter client: nil for the daemon itself.
    func begin(_ client: ClientNetwork?, at upstream: String) -> Bool {
        let upstream = find(upstream)
        let free = limit - (used - upstream.used)
        let share = upstreams.count > 1 ? (free + 1) / 2 : free
        let count = upstream.counts[client] ?? 0
        guard count < share - upstream.used else { return false }
        used += 1
        upstream.used += 1
        upstream.counts[client] = count + 1
        return true
    }

    /// Releases a transfer for which ``begin(_:at:)`` returned true.
    func end(_ client: ClientNetwork?, at upstream: String) {
        let upstream = find(upstream)
        used -= 1
        upstream.used -= 1
        guard let index = upstream.counts.index(forKey: client) else { return }
        upstream.counts.values[index] -= 1
        if upstream.counts.values[index] == 0 { upstream.counts.remove(at: index) }
    }
}
