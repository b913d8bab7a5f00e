// SPDX-License-Identifier: Apache-2.0
import DNSWire
internal import HTTPDNS
import Net

extension VendorSettings: SettingsNamedEntry {
    /// The options of each kind, in the order of the manual.
    static let tables: [VendorKind: SettingsTable<VendorSettings>] = {
        var tables: [VendorKind: SettingsTable<VendorSettings>] = [:]
        for kind in VendorKind.allCases {
            let own = kind.account.options
            tables[kind] = SettingsTable(
                [kindOption] + own + commonOptions,
                strangers: strangers(to: kind, having: own.map(\.name))
            )
        }
        return tables
    }()

    /// The options of an entry of which the kind cannot be told: all there are, unread.
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
            message: "the vendor `\(name)` is of the kind \(kind.rawValue)",
            hint: "at \(place): another kind is another vendor"
        )
    }

    static var examples: [SettingsManual.Example] {
        VendorKind.allCases.map { kind in
            var fresh = VendorSettings(name: kind.rawValue, place: SettingsPlace())
            fresh.kind = kind
            // What all kinds have is explained once.
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

    /// What to say about the options of other kinds, by option.
    private static func strangers(
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
            "is for vendors of the kind\(others.count > 1 ? "s" : "")"
                + " \(others.joined(separator: ", ")), not \(kind.rawValue)"
        }
    }

    /// Which options are not repeated.
    private static var commonOptionsNote: String {
        let names = commonOptions.map { "`\($0.name)`" }
        return "It also has " + names.dropLast().joined(separator: ", ")
            + " and \(names[names.count - 1]), as above."
    }
}

// MARK: - Options of all kinds

extension VendorSettings {
    private static let kindOption = SettingsOption<VendorSettings>.option(
        "kind",
        \.kind,
        .choice(aliases: VendorKind.aliases),
        required: true,
        """
        Whose protocol the vendor speaks.
        """
    )

    private static let commonOptions: [SettingsOption<VendorSettings>] = [
        .option(
            "client-subnet",
            \.clientSubnet,
            .ip,
            // 203.0.113.7 (RFC 5737).
            example: .v4(IPv4Address(value: 0xCB00_7107)),
            """
            The address that the vendor chooses answers for, instead of the one it sees the calls \
            come from.
            """
        ),
        .option(
            "timeout",
            \.timeout,
            .duration(SettingsLimits.timeout),
            """
            How long one call may take, with the connection and its TLS handshake. All calls for \
            one question together take at most 3s.
            """
        ),
        .option(
            "retries-before-switch",
            \.retriesBeforeSwitch,
            .integer(SettingsLimits.retries),
            """
            After so many failures in a row the next server becomes the first choice.
            """
        ),
        .option(
            "hedge-after",
            \.hedgeAfter,
            .duration(SettingsLimits.hedge),
            """
            A server that has not answered after so long is not waited for alone: the next one is \
            asked too, and the first answer counts.
            """
        ),
        .option(
            "return-to-primary-after",
            \.returnToPrimaryAfter,
            .duration(SettingsLimits.returnToPrimary),
            """
            So long after another server has become the first choice, one call tries the first of \
            the list again; if it answers, it is the first choice again.
            """
        ),
        .option(
            "ca-file",
            \.caFile,
            .certificates,
            example: "/etc/httpdnsd/ca.pem",
            """
            PEM file of the certificates to trust instead of the system's.
            """
        ),
        .option(
            "http",
            \.http,
            .httpVersion,
            """
            The version of HTTP; `auto` speaks HTTP/2 where the server does, else 1.1. HTTP/3 \
            needs a libcurl that was built with it, and is never spoken unless you say `3`.
            """
        ),
        .option(
            "proxy",
            \.proxy,
            .proxy,
            example: .exampleProxy,
            """
            An HTTP proxy for all calls: it is asked to CONNECT for https, and to forward http. \
            What it says itself, such as 403, counts as the vendor's word. Proxies of the \
            environment are never used.
            """
        ),
        .option(
            "concurrent-calls",
            \.concurrentCalls,
            .integer(SettingsLimits.concurrentCalls),
            """
            While so many calls are under way, further names wait.
            """
        ),
        .option(
            "calls-per-second",
            \.callsPerSecond,
            .integer(SettingsLimits.callsPerSecond),
            example: 100,
            """
            Calls that may be sent in a second. Beyond them the next vendor of the route or its \
            fallback answers, so that nobody can run up the bill, or use up the `budget` of the day, \
            by asking for names that nobody knows.
            """
        ),
        .section(
            "budget",
            \.budget,
            budgetTable,
            fresh: BudgetSettings(),
            """
            How many calls the vendor may be sent, by the day of UTC and from the start of \
            httpdnsd. When they are spent, the log says so.
            """
        ),
    ]

    private static let budgetTable = SettingsTable<BudgetSettings>(
        .option(
            "calls-per-day",
            \.callsPerDay,
            .integer(SettingsLimits.callsPerDay),
            required: true,
            example: 100_000,
            """
            Calls that may be sent; those that reached nobody or were refused do not count.
            """
        ),
        .option(
            "on-exceeded",
            \.onExceeded,
            .choice(),
            """
            Beyond them no more is sent, so that the next vendor of the route or its fallback \
            answers; or, with `warn`, all goes on and is counted.
            """
        )
    )
}

extension SocketAddress {
    /// The proxy of the manual's example.
    fileprivate static let exampleProxy: SocketAddress = {
        guard let address = SocketAddress("192.0.2.1:3128") else {
            preconditionFailure("the example is no address")
        }
        return address
    }()
}

// MARK: - Checks

extension Settings {
    /// Each vendor has what its kind needs, and its options fit together.
    func checkVendors(_ reading: inout SettingsReading) {
        let named = Set(routes.flatMap(\.vendors))
        for (index, vendor) in vendors.enumerated() {
            let path = "vendors[\(index)]"
            if reading.has("\(path).kind"), !reading.isDamaged("\(path).kind"),
                !reading.isDamaged(path)
            {
                vendor.account.any.check(vendor, path, &reading)
                vendor.checkHTTP(path, &reading)
            }
            if !named.contains(vendor.name), !reading.isDamaged("routes") {
                reading.warn(reading.place(of: path), "no route names the vendor `\(vendor.name)`")
            }
        }
    }
}

extension VendorSettings {
    /// HTTP/3 is QUIC: it has TLS in it, and no proxy passes it on.
    fileprivate func checkHTTP(_ path: String, _ reading: inout SettingsReading) {
        guard http == .http3, !reading.isDamaged("\(path).http") else { return }
        let place = reading.place(of: "\(path).http")
        if !account.any.usesTLS {
            reading.report(place, "HTTP/3 has TLS, and calls over \(account.channel) have not")
        }
        if proxy != nil {
            reading.report(place, "HTTP/3 does not go through a proxy", hint: "say `http: auto`")
        }
    }
}
