// SPDX-License-Identifier: Apache-2.0
internal import Configuration
internal import Control
internal import DNSWire

extension DaemonState {
    /// Problems for the verb `status`: pauses that leave names without a vendor and an upstream.
    ///
    /// Other pauses are no problem, because an operator wanted them, and other servers answer.
    func pauseProblems(_ vendors: [VendorStatus], _ upstreams: [UpstreamStatus]) -> [String] {
        let pausedVendors = Set(vendors.filter { $0.state == .paused }.map(\.name))
        let pausedUpstreams = Set(upstreams.filter { $0.state == .paused }.map(\.name))
        guard !pausedVendors.isEmpty || !pausedUpstreams.isEmpty else { return [] }
        var problems: [String] = []
        let standard = settings.upstreams.filter { !$0.only }.map(\.name)
        if let first = standard.first, standard.allSatisfy(pausedUpstreams.contains) {
            let hasVendors = settings.routes.contains { route in
                route.domains.contains(.suffix(.root))
                    && !route.vendors.allSatisfy(pausedVendors.contains)
            }
            let names =
                hasVendors
                ? "names that no vendor answers, and types other than A and AAAA," : "names"
            problems.append("all upstreams are paused\(Self.effect(first, on: names))")
        }
        // Routes are not compared with each other, because there can be 100,000.
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
        let isUpstreamless = { (route: RouteSettings) in
            !route.upstreams.isEmpty && route.upstreams.allSatisfy(pausedUpstreams.contains)
                && route.vendors.allSatisfy(pausedVendors.contains)
        }
        if let route = settings.routes.first(where: isUpstreamless),
            let first = route.upstreams.first
        {
            problems.append("route \(route.place): all upstreams are paused\(Self.effect(first))")
        }
        return problems
    }

    private static func effect(_ name: String, on names: String = "names") -> String {
        ": \(names) that are not in the cache get SERVFAIL; run `httpdnsctl resume \(name)`"
    }
}
