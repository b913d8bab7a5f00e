// SPDX-License-Identifier: Apache-2.0
package import DNSWire
package import HTTPDNS

/// Vendors and upstreams for the names of some domains.
package struct RouteSettings: Sendable, Equatable {
    package var place: SettingsPlace
    package var domains: [DomainPattern] = []

    package var except: [DomainPattern] = []

    package var vendors: [String] = []
    package var fallback = Fallback.upstream
    package var fallbackAfter: Duration? = .milliseconds(400)
    package var upstreams: [String] = []
    package var privateAnswers = PrivateAnswers.drop

    package var stale = true

    package var families: FamilyChoice?
    package var prefetch = true

    package var isShared = true

    /// If nil, `cache.minimum-ttl` applies.
    package var minimumTTL: Duration?

    /// If nil, `cache.maximum-ttl` applies.
    package var maximumTTL: Duration?

    package var clientSubnet: IPAddress?

    /// For Alibaba vendors; if nil, the `sdns` of each vendor applies.
    package var sdns: [String: String]?

    package enum Fallback: String, Sendable, Hashable, CaseIterable {
        case upstream

        case none
    }

    /// Treatment of private addresses (RFC 6890, also IPv4-mapped) in answers.
    package enum PrivateAnswers: String, Sendable, Hashable, CaseIterable {
        case drop
        case allow
    }
}

// MARK: - Reading

extension [RouteSettings] {
    mutating func take(_ node: YAMLNode, _ reading: inout SettingsReading) {
        let key = SettingsKey().option(YAMLReader.longList).item(count)
        guard reading.patterns <= SettingsLimits.patterns else { return }
        var route = RouteSettings(place: reading.place(at: node.place))
        reading.note(node.place, of: key)
        RouteSettings.table.read(node, as: key, into: &route, &reading)
        reading.share(&route.vendors)
        reading.share(&route.upstreams)
        reading.patterns += Swift.max(1, route.domains.count + route.except.count)
        guard reading.patterns <= SettingsLimits.patterns else {
            return reading.report(
                node.place,
                "the routes have more than \(SettingsLimits.patterns) patterns in `domains` and "
                    + "`except`",
                hint: "`example.com` includes all names below it; a route for `.` covers all names"
            )
        }
        append(route)
    }
}

// MARK: - Table

extension RouteSettings: SettingsEntry {
    var name: String { "" }
    init(name: String, place: SettingsPlace) { self.init(place: place) }

    static let table = SettingsTable<RouteSettings>(
        .option(
            "domains",
            \.domains,
            .list("domains", of: .domain, count: 1...SettingsLimits.items),
            required: true,
            example: [
                DomainPattern(literal: "example.com"), DomainPattern(literal: "=only.this.example"),
                DomainPattern(literal: "*.below.example"),
            ]
        ) {
            """
            Names that the route covers. `example.com` includes all names below it, \
            "=only.this.example" is only this name, "*.below.example" is all subdomains of the \
            domain below.example, but not this domain itself, and `.` is every name. The route \
            with the most specific match is used.
            """
        },
        .option(
            "except",
            \.except,
            .list("domains", of: .domain),
            example: [DomainPattern(literal: "internal.example.com")]
        ) {
            "Names within `domains` that the route does not cover, in the syntax of `domains`."
        },
        .option(
            "vendors",
            \.vendors,
            .list(
                "vendors",
                of: .name(of: "the name of a vendor"),
                count: SettingsLimits.vendorsPerRoute
            ),
            example: ["tencent", "alibaba"]
        ) {
            """
            Vendors for A and AAAA queries, in order. Register the names in the console of each \
            vendor (kind json: not necessary): for other names, a vendor returns no address, but \
            may bill the call.
            """
        },
        .option("fallback", \.fallback, .choice()) {
            """
            Source of the answer if no vendor has an answer. `upstream` queries the upstreams. \
            With `none`, the client gets no addresses. Types other than A and AAAA always go to \
            the upstreams.
            """
        },
        .option("fallback-after", \.fallbackAfter, .fallbackDelay) {
            """
            Maximum time that a query for an uncached name waits for a vendor. After this time, \
            the daemon also calls the next vendor of the route (another billed call). If no vendor \
            is left, the upstreams answer, with a TTL of at most 30 s. A later answer of a vendor \
            replaces the answer of the upstreams in the cache. If the vendor is encrypted, but the \
            next vendor and the upstreams are not, and the call needs a new connection, the time \
            begins when the connection is open (at most 600 ms later). `off` waits for the \
            vendors, up to 3 s. No effect with `fallback: none`.
            """
        },
        .option(
            "upstreams",
            \.upstreams,
            .list(
                "upstreams",
                of: .name(of: "the name of an upstream"),
                count: SettingsLimits.upstreamsPerRoute
            ),
            example: ["office"]
        ) {
            """
            Upstreams for this route, in order, instead of the default upstreams. Required without \
            `vendors`.
            """
        },
        .option("private-answers", \.privateAnswers, .choice()) {
            """
            Private addresses (RFC 1918, RFC 4193, RFC 6598 and other non-public networks of RFC \
            6890) in answers of vendors. `drop` removes these addresses; the section `rebinding` \
            protects answers of the fallback. `allow` keeps these addresses. With `allow`, \
            `rebinding` does not apply to the names of this route. Loopback, link-local and \
            multicast addresses of vendors are always removed.
            """
        },
        .option("stale", \.stale, .boolean) {
            "Allows stale answers for the names of this route, see `cache.stale`."
        },
        .option("prefetch", \.prefetch, .boolean) {
            """
            Allows the daemon to refresh the names of this route before their answers expire, see \
            `cache.prefetch`. `off` also applies to names in `cache.prefetch.names`.
            """
        },
        .option("share", \.isShared, .boolean) {
            "Shares vendors' answers for the names of this route with the machines of the `fleet`."
        },
        .option(
            "minimum-ttl",
            \.minimumTTL,
            .duration(SettingsLimits.ttl),
            standard: "`cache.minimum-ttl`",
            example: .seconds(300)
        ) {
            """
            Lower limit for TTLs of new answers for the names of this route. A vendor is called \
            once per TTL: a larger TTL saves calls, but clients get a changed address later.
            """
        },
        .option(
            "maximum-ttl",
            \.maximumTTL,
            .duration(SettingsLimits.ttl),
            standard: "`cache.maximum-ttl`",
            example: .seconds(3_600)
        ) {
            "Upper limit for TTLs of new answers for the names of this route."
        },
        .option(
            "client-subnet",
            \.clientSubnet,
            .ip,
            standard: "`client-subnet` of each vendor",
            // 203.0.113.7
            example: .v4(IPv4Address(value: 0xCB00_7107))
        ) {
            "Client address for which the vendors select answers for the names of this route."
        },
        .option(
            "sdns",
            \.sdns,
            .sdns,
            standard: "`sdns` of the vendor",
            example: ["tier": "gold"]
        ) {
            """
            Parameters of Alibaba's custom resolution, {NAME: VALUE}. They replace all parameters \
            in `sdns` of the vendor; {} sends none. The daemon adds the prefix sdns-.
            """
        },
        .option(
            "families",
            \.families,
            .choice(),
            standard: "the vendor's `families`",
            example: .both
        ) {
            """
            Address families to request for the names of this route, in place of the option \
            `families` of the vendor, which has the same values.
            """
        }
    )
}
