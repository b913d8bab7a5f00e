// SPDX-License-Identifier: Apache-2.0

/// Sources for the names of some domains.
package struct RouteSettings: Sendable, Equatable {
    package var place: SettingsPlace

    /// The most specific match of all routes wins.
    package var domains: [DomainPattern] = []

    /// Names below `domains`, not covered.
    package var except: [DomainPattern] = []

    /// Vendors for A and AAAA queries, in order.
    package var vendors: [String] = []

    /// Source if no vendor has an answer.
    package var fallback = Fallback.upstream

    /// Empty for the general upstreams.
    package var upstreams: [String] = []

    /// Private addresses in answers of vendors.
    package var privateAnswers = PrivateAnswers.drop

    /// Subject to `cache.stale`.
    package var stale = true

    package enum Fallback: String, Sendable, Hashable, CaseIterable {
        case upstream

        /// Only vendors answer A and AAAA.
        case none
    }

    /// RFC 1918, RFC 4193, also v4-mapped.
    package enum PrivateAnswers: String, Sendable, Hashable, CaseIterable {
        case drop
        case allow
    }

    package init(place: SettingsPlace) { self.place = place }
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
            ],
            """
            Names that the route covers. `example.com` means the domain and all names below it, \
            "=only.this.example" only that name, "*.below.example" only the names below it, and \
            `.` every name. The most specific match of all routes wins; the order of routes does \
            not matter.
            """
        ),
        .option(
            "except",
            \.except,
            .list("domains", of: .domain),
            example: [DomainPattern(literal: "internal.example.com")],
            """
            Names below these domains that the route does not cover, in the same forms. They are \
            resolved as if this route did not exist.
            """
        ),
        .option(
            "vendors",
            \.vendors,
            .list(
                "vendors",
                of: .name(of: "the name of a vendor"),
                count: SettingsLimits.vendorsPerRoute
            ),
            example: ["tencent"],
            """
            Vendors for A and AAAA queries, in order: if a vendor fails, the next one is queried. \
            The names must be registered with the vendor, and the vendor bills every call.
            """
        ),
        .option(
            "fallback",
            \.fallback,
            .choice(),
            """
            Source to use if no vendor has an answer. `upstream` queries the upstreams. With \
            `none`, only answers of vendors count, and a name without one has no addresses. Types \
            other than A and AAAA always go to the upstreams.
            """
        ),
        .option(
            "upstreams",
            \.upstreams,
            .list(
                "upstreams",
                of: .name(of: "the name of an upstream"),
                count: SettingsLimits.upstreamsPerRoute
            ),
            example: ["office"],
            """
            Upstreams for this route, in order, instead of the general ones. Required if the route \
            has no `vendors`.
            """
        ),
        .option(
            "private-answers",
            \.privateAnswers,
            .choice(),
            """
            Handling of private addresses (RFC 1918, RFC 4193, RFC 6598 and other non-public \
            networks of RFC 6890) in answers of vendors. `drop` removes them, which prevents DNS \
            rebinding. `allow` keeps them, also in answers of upstreams, see `rebinding`. \
            Loopback, link-local and multicast addresses in answers of vendors are always removed.
            """
        ),
        .option(
            "stale",
            \.stale,
            .boolean,
            """
            Allows stale answers for these names, see `cache.stale`.
            """
        )
    )
}
