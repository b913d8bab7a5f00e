// SPDX-License-Identifier: Apache-2.0
import DNSWire
internal import HTTPDNS
import Net

extension VendorSettings {
    static let tables: [VendorKind: SettingsTable<VendorSettings>] = {
        var tables: [VendorKind: SettingsTable<VendorSettings>] = [:]
        for kind in VendorKind.allCases {
            let own = kind.account.options
            tables[kind] = SettingsTable(
                [kindOption] + own + commonOptions,
                misplacedKeys: misplacedKeys(to: kind, having: own.map(\.name))
            )
        }
        return tables
    }()

    /// Options of all kinds, for a vendor without a valid kind; the values are ignored.
    private static let undecided = SettingsTable(
        [kindOption]
            + Set(
                (VendorKind.allCases.flatMap { $0.account.options } + commonOptions).map(\.name)
            ).sorted().map(SettingsOption.unread)
    )

    static func table(for node: YAMLNode) -> SettingsTable<VendorSettings> {
        node["kind"]?.scalar.flatMap(VendorKind.init).flatMap { tables[$0] } ?? undecided
    }

    var table: SettingsTable<VendorSettings> { Self.tables[kind] ?? Self.undecided }

    func refusal(of node: YAMLNode) -> YAMLComplaint? {
        guard let other = node["kind"], other.scalar != kind.rawValue else { return nil }
        return YAMLComplaint(
            place: other.place,
            message: "the vendor `\(name)` already has the kind \(kind.rawValue)",
            hint: "the kind is set at \(place); for another kind, use another vendor name"
        )
    }

    static var examples: [SettingsManual.Example] {
        VendorKind.allCases.map { kind in
            var fresh = VendorSettings(name: kind.rawValue, place: SettingsPlace())
            fresh.kind = kind
            let isFirst = kind == VendorKind.allCases.first
            let own = [kindOption] + kind.account.options
            return SettingsManual.Example(
                name: kind.rawValue,
                doc: kind.account.about + (isFirst ? "" : " " + commonOptionsNote),
                entries: SettingsTable(isFirst ? own + commonOptions : own).explain(fresh),
                allEntries: SettingsTable(own + commonOptions).explain(fresh)
            )
        }
    }

    private static func misplacedKeys(
        to kind: VendorKind,
        having own: [String]
    ) -> [String: String] {
        var kinds: [String: [String]] = [:]
        for other in VendorKind.allCases where other != kind {
            for option in other.account.options where !own.contains(option.name) {
                kinds[option.name, default: []].append(other.rawValue)
            }
        }
        return kinds.mapValues { others in
            "is an option of vendor kind\(others.count > 1 ? "s" : "")"
                + " \(others.joined(separator: ", ")), not \(kind.rawValue)"
        }
    }

    private static var commonOptionsNote: String {
        let names = commonOptions.map { "`\($0.name)`" }
        return "The common options (\(names[0]) to \(names[names.count - 1]) above) are also valid."
    }
}

// MARK: - Options of all kinds

extension VendorSettings {
    private static let kindOption = SettingsOption<VendorSettings>.option(
        "kind",
        \.kind,
        .choice(aliases: VendorKind.aliases),
        required: true
    ) { "Protocol of the vendor. The other options depend on the protocol." }

    private static let commonOptions: [SettingsOption<VendorSettings>] = [
        .option(
            "client-subnet",
            \.client.clientSubnet,
            .ip,
            // 203.0.113.7
            example: .v4(IPv4Address(value: 0xCB00_7107))
        ) {
            """
            Client address for which the vendor selects answers, instead of the source address of \
            the calls.
            """
        },
        .option("timeout", \.client.timeout, .duration(SettingsLimits.timeout)) {
            """
            Time limit for one call, including connect and TLS handshake. All calls for one query \
            together take at most 3s.
            """
        },
        .option(
            "retries-before-switch",
            \.client.retriesBeforeSwitch,
            .integer(SettingsLimits.retries)
        ) {
            """
            Number of consecutive failures of the preferred server after which the next server is \
            preferred.
            """
        },
        .option("hedge-after", \.client.hedgeAfter, .duration(SettingsLimits.hedge)) {
            """
            Time without an answer after which the next server also gets the call. The first \
            answer is used.
            """
        },
        .option(
            "return-to-primary-after",
            \.client.returnToPrimaryAfter,
            .duration(SettingsLimits.returnToPrimary)
        ) {
            """
            Time from a switch to another server until a probe checks the first server. If the \
            first server answers, the first server is preferred again.
            """
        },
        .option("ca-file", \.client.certificateFile, .certificates, example: "/etc/httpdnsd/ca.pem")
        {
            """
            PEM file of trusted CA certificates, instead of the system's. If the file changes, the \
            daemon uses the new certificates for new connections, without a reload.
            """
        },
        .option("http", \.client.version, .httpVersion) {
            """
            HTTP version. `auto`: HTTP/2 if TLS negotiates it, otherwise HTTP/1.1. `2`: as `auto`, \
            but HTTP/2 also without TLS. `3` requires a libcurl with HTTP/3.
            """
        },
        .option("proxy", \.client.proxy, .proxy, example: .exampleProxy) {
            """
            HTTP proxy for all calls. For calls over https, the daemon uses CONNECT. An error \
            response of the proxy counts as a response of the vendor. The daemon ignores proxy \
            environment variables.
            """
        },
        .option(
            "concurrent-calls",
            \.client.concurrentCalls,
            .integer(SettingsLimits.concurrentCalls)
        ) {
            """
            Maximum number of calls in flight; further names wait. If at least one vendor has a \
            value above the default, the sum of the values of all vendors can be at most 128. One \
            client can use at most half of the calls that other clients leave unused. Set a \
            value below the vendor's limit of concurrent calls or connections.
            """
        },
        .option(
            "calls-per-second",
            \.client.callsPerSecond,
            .integer(SettingsLimits.callsPerSecond),
            example: 100
        ) {
            """
            Maximum number of calls per second. Above this rate, the next vendor or the fallback \
            of the route answers. Without this option, clients that query random names can use up \
            a daily budget within minutes. As with `calls-per-day`, the calls of one client are \
            limited, and a part of the calls is reserved for clients with addresses that cannot be \
            forged.
            """
        },
        .option("families", \.client.families, .choice()) {
            """
            Address families that a call requests. `auto` requests A and AAAA in two cases: both \
            families together cost the same as one family, or the machine has IPv6 and clients \
            recently queried both families of the name. In other cases, `auto` requests only the \
            queried family. `both`: always A and AAAA. `v4` and `v6` mean the same: only the \
            queried family, whether A or AAAA.
            """
        },
        .section("budget", \.client.budget, budgetTable, fresh: Budget.Rule()) {
            """
            Limits on the calls and the billed units. The counts are in the file usage.state. So \
            the counts survive restarts, and all daemons of the machine share the counts. The \
            file also has the client that used the vendor last, and the times of the latest \
            calls, so that the shares of the clients also apply after a restart. The daemon logs \
            when a limit is reached. If the file is damaged or cannot be accessed, a budget with \
            `on-exceeded: fallback` counts as spent.
            """
        },
        .section("price", \.price, priceTable, fresh: PriceSettings()) {
            """
            Prices of your contract, if they differ from the vendor's price page. `httpdnsctl \
            bill` shows the values in use.
            """
        },
    ]

    private static let priceTable = SettingsTable<PriceSettings>(
        .option("per-10000", \.per10000, .price, example: 0.04) { "Price of 10,000 units." },
        .option("currency", \.currency, .currency, example: "CNY") {
            """
            Currency of `per-10000`, as an ISO 4217 code. Set `per-10000` and `currency` together, \
            or neither.
            """
        },
        .option(
            "free-per-month",
            \.freePerMonth,
            .integer(SettingsLimits.freeUnits),
            example: 1_000_000
        ) {
            "Number of free units per calendar month (UTC)."
        },
        .option("weight", \.weight, .integer(SettingsLimits.weight), example: 5) {
            """
            Units of one billed item. Depending on the vendor, an item is a request, a name, or an \
            address family of a name.
            """
        }
    )

    private static let budgetTable = SettingsTable<Budget.Rule>(
        .option(
            "calls-per-day",
            \.callsPerDay,
            .integer(SettingsLimits.callsPerDay),
            example: 100_000
        ) {
            """
            Maximum number of calls per UTC day. Above this number, the next vendor or the \
            fallback answers. Calls that did not reach the vendor do not count. Calls that the \
            vendor refused over TLS do not count. Refused calls without TLS count, because an \
            attacker can forge the refusal. If several clients (IPv4 addresses or IPv6 /56) used \
            the vendor within 24h, one client can use at most three quarters of the calls that the \
            other clients leave unused. A part of the calls is reserved for clients with addresses \
            that cannot be forged: this machine, and clients over TCP or with a DNS cookie. This \
            part is a quarter of the budget, and decreases to 0 at the end of the day. Nothing is \
            reserved if no client with such an address used the vendor within 24h.
            """
        },
        .option("units-per-day", \.unitsPerDay, .integer(SettingsLimits.units), example: 500_000) {
            """
            Maximum number of billed units per UTC day. With `on-exceeded: fallback`, the value \
            must be at least the number of units that one name costs. If the daemon does not know \
            whether a call is billed, the units of this call count, too.
            """
        },
        .option(
            "units-per-month",
            \.unitsPerMonth,
            .integer(SettingsLimits.units),
            example: 10_000_000
        ) {
            """
            Maximum number of billed units per calendar month (UTC). The rules of `units-per-day` \
            apply.
            """
        },
        .option("on-exceeded", \.onExceeded, .choice()) {
            """
            Action when the budget is spent. `fallback` sends no more calls: the next vendor or \
            the fallback of the route answers. `warn` continues to send and count calls.
            """
        }
    )
}

extension SocketAddress {
    fileprivate static let exampleProxy: SocketAddress = {
        guard let address = SocketAddress("192.0.2.1:3128") else {
            preconditionFailure("the example is not an address")
        }
        return address
    }()
}

// MARK: - Checks

extension Settings {
    func checkVendors(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.vendors))
        for (index, vendor) in vendors.enumerated() {
            let path = "vendors[\(index)]"
            if reading.has("\(path).kind"), !reading.isDamaged("\(path).kind"),
                !reading.isDamaged(path)
            {
                vendor.account.any.check(vendor, path, &reading)
                vendor.checkHTTP(path, &reading)
                vendor.checkBudget(path, &reading)
                vendor.checkPrice(path, &reading)
            }
            if !named.contains(vendor.name), !reading.isDamaged("routes") {
                reading.warn(
                    reading.place(of: path),
                    "the vendor `\(vendor.name)` is unused: no route names it"
                )
            } else {
                vendor.checkCost(path, &reading)
            }
        }
        checkConcurrentCalls(&reading)
    }

    private func checkConcurrentCalls(_ reading: inout SettingsReading) {
        let sum = vendors.reduce(0) { $0 + $1.client.concurrentCalls }
        let most = SettingsLimits.concurrentCallsTogether
        let largest = vendors.indices.max {
            vendors[$0].client.concurrentCalls < vendors[$1].client.concurrentCalls
        }
        guard sum > most, let largest,
            vendors[largest].client.concurrentCalls > VendorClient.Settings().concurrentCalls
        else { return }
        reading.report(
            reading.place(of: "vendors[\(largest)].concurrent-calls"),
            "the sum of all vendors' `concurrent-calls` is \(sum); the maximum is \(most)",
            hint: "reduce them: each call takes memory, and the systemd unit limits the memory"
        )
    }
}

extension VendorSettings {
    fileprivate func checkHTTP(_ path: String, _ reading: inout SettingsReading) {
        guard client.version == .http3, !reading.isDamaged("\(path).http") else { return }
        let place = reading.place(of: "\(path).http")
        if !account.any.usesTLS {
            reading.report(
                place,
                "HTTP/3 requires TLS, and \(account.channel) calls do not use TLS"
            )
        }
        if client.proxy != nil {
            reading.report(place, "HTTP/3 does not work through a proxy", hint: "set `http: auto`")
        }
    }
}
