// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
package import Net
internal import Upstream

/// Captive portal mode: the resolver of the network answers, so that the user can log in to the
/// portal.
///
/// The mode is a route for all names except static hosts, special names, names in routing domains,
/// and names of routes with `fallback: none`. Its answers are neither stored in the cache nor taken
/// from it.
struct PortalMode {
    let end: Instant
    let match: RouteTable.Match
    let timer: any Cancellable

    let servers: [LinkResolvers.Server]
}

extension LearnedNetwork {
    package var portalEnd: Instant? { portal?.end }

    /// Starts or extends the captive portal mode; returns false if the network has no DNS server.
    package func startPortal(_ time: Duration) -> Bool {
        let upstream = upstream ?? unused
        guard !upstream.servers.isEmpty else { return false }
        let end = clocks.now() + time
        portal?.timer.cancel()
        var options = Route.Options()
        options.isCached = false
        options.isPrefetched = false
        options.minimumTTL = 0
        options.maximumTTL = ResolverLimits.portalLifetime
        let route = Route(
            place: "captive portal mode",
            vendors: [],
            upstreams: UpstreamGroup([upstream], health: health),
            fallsBack: true,
            allowsPrivateAnswers: true,
            servesStale: false,
            options: options
        )
        let isNew = portal == nil
        portal = PortalMode(
            end: end,
            match: RouteTable.Match(route, for: .root),
            timer: clocks.timer(end) { [weak self] in self?.endPortal() },
            servers: addresses
        )
        generation += 1
        if isNew { onPortal?(true) }
        return true
    }

    /// Ends the captive portal mode if the network has other servers than at the start of the mode.
    func endFormerPortal() {
        guard let portal, !addresses.isEmpty, addresses != portal.servers else { return }
        endPortal()
    }

    package func endPortal() {
        guard let portal else { return }
        portal.timer.cancel()
        self.portal = nil
        generation += 1
        onPortal?(false)
    }
}
