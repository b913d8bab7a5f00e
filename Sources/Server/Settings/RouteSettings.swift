// SPDX-License-Identifier: Apache-2.0

/// Who is asked for the names of some domains.
package struct RouteSettings: Sendable, Equatable {
    /// Where it stands in the file, as `explain` shows it.
    package var place: SettingsPlace

    /// The names it is for; of all routes, the most specific domain wins.
    package var domains: [DomainPattern] = []

    /// Names below its domains that it is not for.
    package var except: [DomainPattern] = []

    /// The vendors asked for A and AAAA, in order.
    package var vendors: [String] = []

    /// What happens when no vendor has an answer.
    package var fallback = Fallback.upstream

    /// The upstreams it uses instead of the general ones, in order.
    package var upstreams: [String] = []

    /// What happens to private addresses in the answers of vendors.
    package var privateAnswers = PrivateAnswers.drop

    /// Whether stale answers are given for its names, if they are at all.
    package var stale = true

    /// What answers when no vendor does.
    package enum Fallback: String, Sendable, Hashable, CaseIterable {
        /// The upstreams.
        case upstream

        /// Nobody: only a vendor's answer counts, for A and AAAA.
        case none
    }

    /// What becomes of addresses from RFC 1918, RFC 4193 and v4-mapped ones.
    package enum PrivateAnswers: String, Sendable, Hashable, CaseIterable {
        case drop
        case allow
    }

    package init(place: SettingsPlace) { self.place = place }
}

// MARK: - Table

extension RouteSettings: SettingsEntry {
    /// Routes have no name.
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
            The names the route is for: `example.com` is the domain and everything below it, \
            "=only.this.example" that name alone, "*.below.example" only what is below, and `.` \
            every name. Of all routes the most specific domain wins, so their order does not matter.
            """
        ),
        .option(
            "except",
            \.except,
            .list("domains", of: .domain),
            example: [DomainPattern(literal: "internal.example.com")],
            """
            Names below these domains that the route is not for, in the same forms. They go where \
            they would go without the route.
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
            The vendors that are asked for addresses (A and AAAA), in order: the next one when the \
            one before fails. Names must be registered with the vendor, and it bills every call.
            """
        ),
        .option(
            "fallback",
            \.fallback,
            .choice(),
            """
            What answers when the vendors have no answer: `upstream` asks the upstreams; with \
            `none` only a vendor's answer counts, and a name without one has no addresses. Other \
            types than A and AAAA always go to the upstreams.
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
            The upstreams that serve this route, in order, instead of the general ones. A route \
            without vendors needs them.
            """
        ),
        .option(
            "private-answers",
            \.privateAnswers,
            .choice(),
            """
            Whether private addresses (RFC 1918, RFC 4193, RFC 6598 and others of RFC 6890 that lead \
            into a network) in the answers of vendors are dropped, which stops DNS rebinding, or \
            allowed: then also in those of upstreams, see `rebinding`. Loopback, link-local and \
            multicast addresses of vendors are dropped always.
            """
        ),
        .option(
            "stale",
            \.stale,
            .boolean,
            """
            Whether answers whose time is over may be given for these names, as `cache.stale` says.
            """
        )
    )
}
