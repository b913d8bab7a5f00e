// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import DNSWire
internal import HTTPDNS
internal import Upstream

extension DaemonState {
    /// Problems for `status` and `pause`: pauses that leave names without any vendor or upstream.
    ///
    /// Other pauses are no problem, because an operator wanted them, and other servers answer.
    var pauseProblems: [String] {
        let pausedVendors = Set(
            vendors.map(\.client).filter { $0.statistics.state == .paused }.map(\.name)
        )
        let hasPausedUpstream = upstreams.contains { upstreamHealth.isPaused($0.name) }
        guard !pausedVendors.isEmpty || hasPausedUpstream else { return [] }
        var problems: [String] = []
        if let outage = outage(of: settings.upstreams.filter { !$0.only }.map(\.name)) {
            let hasVendors = settings.routes.contains { route in
                route.domains.contains(.suffix(.root))
                    && !route.vendors.allSatisfy(pausedVendors.contains)
            }
            let names =
                hasVendors
                ? "queries that no vendor answers and" : "names"
            problems.append(outage.reason + Self.effect(outage.upstream, on: names))
        }
        // Does not compare routes with each other, which would take too long for 100,000 routes.
        let isVendorless = { (route: RouteSettings) in
            route.fallback == .none && !route.vendors.isEmpty
                && route.vendors.allSatisfy(pausedVendors.contains)
        }
        if let route = settings.routes.first(where: isVendorless), let first = route.vendors.first {
            problems.append(
                "route \(route.place): all vendors are paused, and `fallback` is `none`"
                    + Self.effect(first)
            )
        }
        guard hasPausedUpstream else { return problems }
        var groups: Set<[String]> = []
        for route in settings.routes
        where route.vendors.allSatisfy(pausedVendors.contains)
            && groups.insert(route.upstreams).inserted
        {
            guard let outage = outage(of: route.upstreams) else { continue }
            let text = outage.reason + Self.effect(outage.upstream)
            problems.append("route \(route.place): \(text)")
            break
        }
        return problems
    }

    private func outage(of names: [String]) -> (upstream: String, reason: String)? {
        let members = names.compactMap { name in upstreams.first { $0.name == name } }
        return members.isEmpty
            ? nil : UpstreamGroup(members, health: upstreamHealth).pauseOutage
    }

    private static func effect(_ name: String, on names: String = "names") -> String {
        ": \(names) that are not in the cache get SERVFAIL; run `httpdnsctl resume \(name)`"
    }
}
