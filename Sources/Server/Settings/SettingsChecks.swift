// SPDX-License-Identifier: Apache-2.0
import Net

// What one option cannot know: whether the options fit together.

extension Settings {
    /// Checks the settings that were read, as far as they could be.
    func check(_ reading: inout SettingsReading) {
        checkListeners(&reading)
        checkVendors(&reading)
        checkRoutes(&reading)
        checkUpstreams(&reading)
        checkCache(&reading)
        checkThatSomethingAnswers(&reading)
    }
}

// MARK: - Listeners

extension Settings {
    /// An open resolver must be meant, and a closed one on a public address is odd.
    private func checkListeners(_ reading: inout SettingsReading) {
        var seen: Set<SocketAddress> = []
        for (index, address) in listen.enumerated() {
            let place = reading.place(of: "listen[\(index)]")
            if address.port != 0, !seen.insert(address).inserted {
                reading.report(place, "`\(address)` is listened on twice")
            }
            guard !address.isLoopback, !reading.has("allow") else { continue }
            if address.isUnspecified {
                reading.report(
                    place,
                    "`\(address)` listens on all addresses of the machine without `allow`",
                    hint: "say who may ask, for example allow: [\"127.0.0.0/8\", \"192.0.2.0/24\"]"
                )
            } else {
                reading.warn(
                    place,
                    "`\(address)` is listened on, but only this machine may ask",
                    hint: "say who may ask with `allow`"
                )
            }
        }
        for (index, block) in allow.enumerated() where block.isEverything {
            reading.warn(
                reading.place(of: "allow[\(index)]"),
                "`\(block)` lets everybody ask, which attackers use to flood others"
            )
        }
    }
}

// MARK: - Vendors

extension Settings {
    /// Each channel has what it needs.
    private func checkVendors(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.vendors))
        for (index, vendor) in vendors.enumerated() {
            let path = "vendors[\(index)]"
            let place = reading.place(of: path)
            if !reading.isDamaged("\(path).kind"), !reading.isDamaged("\(path).channel"),
                !reading.isDamaged(path)
            {
                checkSecrets(of: vendor, path, &reading)
            }
            if !named.contains(vendor.name), !reading.isDamaged("routes") {
                reading.warn(place, "no route names the vendor `\(vendor.name)`")
            }
        }
    }

    /// The id, token and key fit the channel.
    private func checkSecrets(
        of vendor: VendorSettings,
        _ path: String,
        _ reading: inout SettingsReading
    ) {
        let channel = vendor.channel.rawValue
        let needs = vendor.channel == .https ? ["token"] : ["id", "key"]
        for option in needs where !reading.has("\(path).\(option)") {
            let hasKey = reading.has("\(path).key")
            reading.report(
                reading.place(of: path),
                "the vendor `\(vendor.name)` needs `\(option)` for its channel \(channel)",
                hint: option == "token" && hasKey ? "with a key its channel is `aes` or `des`" : nil
            )
        }
        if vendor.channel == .https {
            let isNumber = vendor.token?.withValue { token in
                token.allSatisfy { (0x30...0x39).contains($0) }
            }
            if isNumber == false {
                reading.report(
                    reading.place(of: "\(path).token"),
                    "the token is not a decimal number"
                )
            }
        } else if let count = vendor.key?.withValue(\.count) {
            let right = vendor.channel == .aes ? 16 : 8
            let place = reading.place(of: "\(path).key")
            if count != right {
                reading.report(
                    place,
                    "the key has \(count) octets; the channel \(channel) takes exactly \(right)",
                    hint: vendor.channel == .des && count > right
                        ? "of longer keys others silently use the first 8 octets: keep only those"
                        : nil
                )
            }
            if vendor.channel == .des {
                reading.warn(
                    reading.place(of: "\(path).channel"),
                    "DES can be broken: prefer the channel `aes` or `https`"
                )
            }
        }
    }
}

// MARK: - Routes

extension Settings {
    /// Routes name what exists, and each name belongs to one of them.
    private func checkRoutes(_ reading: inout SettingsReading) {
        var owners: [DomainPattern: YAMLPlace] = [:]
        for (index, route) in routes.enumerated() {
            let path = "routes[\(index)]"
            checkNames(
                route.vendors,
                at: "\(path).vendors",
                "vendor",
                vendors.map(\.name),
                &reading
            )
            checkNames(
                route.upstreams,
                at: "\(path).upstreams",
                "upstream",
                upstreams.map(\.name),
                &reading
            )
            for (index, domain) in route.domains.enumerated() {
                let place = reading.place(of: "\(path).domains[\(index)]")
                if let first = owners[domain] {
                    reading.report(
                        place,
                        "`\(domain)` has a route already",
                        hint: "on line \(first.line)"
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
        _ known: [String],
        _ reading: inout SettingsReading
    ) {
        var seen: Set<String> = []
        for (index, name) in names.enumerated() {
            let place = reading.place(of: "\(path)[\(index)]")
            if !seen.insert(name).inserted {
                reading.report(place, "the \(what) `\(name)` is named twice")
            } else if !known.contains(name), !reading.leftOut.contains(name),
                !reading.isDamaged("\(what)s")
            {
                reading.report(
                    place,
                    "there is no \(what) `\(name)`",
                    hint: DidYouMean.hint(for: name, among: known)
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
        for (index, exception) in route.except.enumerated() {
            let place = reading.place(of: "\(path).except[\(index)]")
            if route.domains.contains(exception) {
                reading.report(place, "`\(exception)` is a domain of this route and an exception")
            } else if !route.domains.contains(where: { $0.covers(exception) }) {
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

// MARK: - Upstreams

extension Settings {
    /// Upstreams have names of their own, and none of them is this daemon.
    private func checkUpstreams(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.upstreams))
        var seen: [String: YAMLPlace] = [:]
        for (index, upstream) in upstreams.enumerated() {
            let path = "upstreams[\(index)]"
            if let first = seen[upstream.name], reading.has("\(path).name") {
                reading.report(
                    reading.place(of: "\(path).name"),
                    "a second upstream is called `\(upstream.name)`",
                    hint: "first on line \(first.line)"
                )
            }
            seen[upstream.name] = seen[upstream.name] ?? reading.place(of: path)
            if let address = listen.first(where: { $0.receives(upstream.url.address) }) {
                reading.report(
                    reading.place(of: "\(path).url"),
                    "`\(upstream.url)` is httpdnsd itself, which listens on `\(address)`",
                    hint: "questions would go round in circles: name another resolver"
                )
            }
            if upstream.only, !upstream.name.isEmpty, !named.contains(upstream.name) {
                reading.warn(
                    reading.place(of: path),
                    "no route names the upstream `\(upstream.name)`, which serves only those that do"
                )
            }
        }
    }

    /// Something can be answered, and if not everything can, that is said.
    private func checkThatSomethingAnswers(_ reading: inout SettingsReading) {
        guard reading.leftOut.isEmpty, !reading.isDamaged("upstreams"),
            !reading.isDamaged("routes"),
            upstreams.allSatisfy(\.only)
        else { return }
        let place = reading.place(of: "upstreams")
        if routes.isEmpty {
            reading.report(
                place,
                "nothing can be answered: there are neither routes nor upstreams for all names",
                hint: "for example upstreams: [{name: isp, url: \"udp://192.0.2.1\"}]"
            )
        } else {
            reading.warn(place, "names without a route cannot be answered: no upstream serves all")
        }
    }
}

extension SocketAddress {
    /// Whether this is 0.0.0.0 or [::].
    fileprivate var isUnspecified: Bool { octets.allSatisfy { $0 == 0 } }

    /// Whether this is in 127.0.0.0/8 or [::1].
    fileprivate var isLoopback: Bool {
        isIPv6 ? octets.dropLast().allSatisfy { $0 == 0 } && octets.last == 1 : octets.first == 127
    }

    /// Whether a listener on this address gets what is sent to `other`, as far as can be known.
    ///
    /// Which other addresses the machine has is not known here; a loop through one of those stays
    /// small, since the question that comes back joins the one in flight.
    fileprivate func receives(_ other: SocketAddress) -> Bool {
        guard port == other.port else { return false }
        return octets == other.octets || isUnspecified && other.isLoopback
    }
}

// MARK: - Cache

extension Settings {
    /// Minima lie below their maxima.
    private func checkCache(_ reading: inout SettingsReading) {
        let pairs = [
            ("cache.minimum-ttl", cache.minimumTTL, "cache.maximum-ttl", cache.maximumTTL),
            (
                "cache.negative-ttl.minimum", cache.negativeTTL.minimum,
                "cache.negative-ttl.maximum", cache.negativeTTL.maximum
            ),
        ]
        for (minimum, low, maximum, high) in pairs where low > high {
            reading.report(
                reading.place(of: reading.has(minimum) ? minimum : maximum),
                "`\(minimum)` is greater than `\(maximum)`"
            )
        }
    }
}
