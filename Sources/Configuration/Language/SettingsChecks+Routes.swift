// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import DNSWire

extension Settings {
    func checkRoutes(_ reading: inout SettingsReading) {
        var owners: [DomainPattern: YAMLPlace] = [:]
        let vendorNames = Set(vendors.map(\.name))
        let upstreamNames = Set(upstreams.map(\.name))
        for (index, route) in routes.enumerated() {
            let path = "routes[\(index)]"
            checkNames(route.vendors, at: "\(path).vendors", "vendor", vendorNames, &reading)
            checkNames(
                route.upstreams,
                at: "\(path).upstreams",
                "upstream",
                upstreamNames,
                &reading
            )
            for (index, domain) in route.domains.enumerated() {
                let place = reading.place(of: "\(path).domains[\(index)]")
                if let first = owners[domain] {
                    reading.report(
                        place,
                        "`\(domain)` already has a route",
                        hint: "the first route is " + reading.pointer(to: first, from: place)
                    )
                } else {
                    owners[domain] = place
                }
            }
            checkExceptions(of: route, path, &reading)
            checkAnswerers(of: route, path, &reading)
            checkLifetimes(of: route, path, &reading)
            checkVendorParameters(of: route, path, &reading)
        }
    }

    private func checkNames(
        _ names: [String],
        at path: String,
        _ what: String,
        _ known: Set<String>,
        _ reading: inout SettingsReading
    ) {
        var seen: Set<String> = []
        for (index, name) in names.enumerated() {
            let place = reading.place(of: "\(path)[\(index)]")
            if !seen.insert(name).inserted {
                reading.report(place, "duplicate \(what) `\(name)`")
            } else if !known.contains(name), !reading.leftOut.contains(name),
                !reading.isDamaged(""), !reading.isDamaged("\(what)s")
            {
                reading.report(
                    place,
                    "there is no \(what) `\(name)`",
                    hint: reading.isFull ? nil : DidYouMean.hint(for: name, among: known)
                )
            }
        }
    }

    private func checkExceptions(
        of route: RouteSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        guard !reading.isDamaged("\(path).domains"), !route.domains.isEmpty else { return }
        let domains = Set(route.domains)
        for (index, exception) in route.except.enumerated() {
            let place = reading.place(of: "\(path).except[\(index)]")
            if domains.contains(exception) {
                reading.report(place, "`\(exception)` is in both `domains` and `except`")
            } else if !exception.isCovered(byAnyOf: domains) {
                reading.report(place, "`\(exception)` is not below a domain of this route")
            }
        }
    }

    private func checkAnswerers(
        of route: RouteSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        guard route.vendors.isEmpty, !reading.isDamaged(path),
            !reading.isDamaged("\(path).vendors")
        else { return }
        if route.upstreams.isEmpty, !reading.isDamaged("\(path).upstreams") {
            reading.report(
                reading.place(of: path),
                "the route has neither `vendors` nor `upstreams`"
            )
        } else if route.fallback == .none {
            reading.report(
                reading.place(of: "\(path).fallback"),
                "`fallback: none` requires `vendors`, but the route lists no vendor"
            )
        }
    }

    private func checkLifetimes(
        of route: RouteSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let (minimum, maximum) = ("\(path).minimum-ttl", "\(path).maximum-ttl")
        guard route.minimumTTL ?? cache.minimumTTL > route.maximumTTL ?? cache.maximumTTL,
            route.minimumTTL != nil || route.maximumTTL != nil,
            ![minimum, maximum, "cache.minimum-ttl", "cache.maximum-ttl"]
                .contains(where: reading.isDamaged)
        else { return }
        let names = (
            route.minimumTTL == nil ? "cache.minimum-ttl" : "minimum-ttl",
            route.maximumTTL == nil ? "cache.maximum-ttl" : "maximum-ttl"
        )
        let missing =
            route.minimumTTL == nil
            ? "minimum-ttl" : route.maximumTTL == nil ? "maximum-ttl" : nil
        reading.report(
            reading.place(of: route.minimumTTL == nil ? maximum : minimum),
            "`\(names.0)` is greater than `\(names.1)`",
            hint: missing.map { "also set `\($0)` of this route" }
        )
    }

    private func checkVendorParameters(
        of route: RouteSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        guard !reading.isDamaged("\(path).vendors"), !reading.isDamaged(path) else { return }
        if route.clientSubnet != nil, route.vendors.isEmpty {
            reading.report(
                reading.place(of: "\(path).client-subnet"),
                "`client-subnet` requires `vendors`, but the route lists no vendor"
            )
        }
        guard let sdns = route.sdns, !reading.isDamaged("\(path).sdns") else { return }
        AlibabaSettings.check(sdns: sdns, path, &reading)
        let mayGetThem = route.vendors.contains { name in
            // An undefined or invalid vendor counts as an Alibaba vendor, so that the user gets
            // only the error about the vendor itself.
            guard let index = vendors.firstIndex(where: { $0.name == name }) else { return true }
            return vendors[index].kind == .alibaba
                || reading.isDamaged("vendors[\(index)].kind")
                || reading.isDamaged("vendors[\(index)]")
                || !reading.has("vendors[\(index)].kind")
        }
        guard !mayGetThem else { return }
        reading.report(
            reading.place(of: "\(path).sdns"),
            "only vendors of kind alibaba take `sdns`, but the route lists no such vendor",
            hint: "remove `sdns`, or add a vendor of kind alibaba to `vendors`"
        )
    }
}
