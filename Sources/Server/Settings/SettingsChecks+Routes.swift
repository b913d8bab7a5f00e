// SPDX-License-Identifier: Apache-2.0
internal import Control

extension Settings {
    /// Routes name what exists, and each name belongs to one of them.
    func checkRoutes(_ reading: inout SettingsReading) {
        var owners: [DomainPattern: YAMLPlace] = [:]
        let vendorNames = Set(vendors.map(\.name))
        let upstreamNames = Set(upstreams.map(\.name))
        for (index, route) in routes.enumerated() {
            let path = "routes[\(index)]"
            checkNames(
                route.vendors,
                at: "\(path).vendors",
                "vendor",
                vendorNames,
                &reading
            )
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
                        "`\(domain)` has a route already",
                        hint: reading.pointer(to: first, from: place)
                    )
                } else {
                    owners[domain] = place
                }
            }
            checkExceptions(of: route, path, &reading)
            checkAnswerers(of: route, path, &reading)
        }
    }

    /// Every name in a list is one that the file defines, and stands there once.
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
                reading.report(place, "the \(what) `\(name)` is named twice")
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

    /// An exception takes something away from its route, but not a whole domain.
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
                reading.report(place, "`\(exception)` is a domain of this route and an exception")
            } else if !exception.isCovered(byAnyOf: domains) {
                reading.report(place, "`\(exception)` does not lie below a domain of this route")
            }
        }
    }

    /// A route has somebody to ask.
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
                "`fallback: none` lets only vendors answer, and the route has none"
            )
        }
    }
}
