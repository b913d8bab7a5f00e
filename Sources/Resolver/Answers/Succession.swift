// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// Which answers that were found out under earlier settings are right under those that follow.
///
/// An answer stays if the new settings ask the one who gave it, and nobody before him whom the old
/// ones did not ask.  So a vendor that is added behind the others costs no call for what is known,
/// and a name that was moved to another network is not answered from the old one for a day.  What
/// does not stay is removed, not marked stale: a stale answer is given when nobody has a better one,
/// and one from the wrong network is none.
@ServiceLoop
final class Succession {
    /// What of a resolver's settings decides about its answers.
    struct Plan {
        let routes: RouteTable
        let standard: UpstreamGroup?
        let answers: AnswerPolicy
    }

    /// Whom names of a route, or of none, are asked of.
    private struct Way: Equatable {
        /// Vendors by name, in order.
        let vendors: [String]
        let fallsBack: Bool
        let allowsPrivateAnswers: Bool

        /// Whether the upstreams are the route's own: their answers may be private.
        let hasOwnUpstreams: Bool

        /// The servers of upstreams as `Origins` has them, and whether each is believed.
        let servers: [String: Bool]

        /// The way of a name with this match.
        @ServiceLoop
        init(_ match: RouteTable.Match?, _ plan: Plan) {
            let route = match?.route
            let group = route?.upstreams ?? plan.standard
            vendors = route?.vendors.map(\.name) ?? []
            fallsBack = route?.fallsBack ?? true
            allowsPrivateAnswers = route?.allowsPrivateAnswers ?? false
            hasOwnUpstreams = route?.upstreams != nil
            servers = Dictionary(
                (group?.members ?? []).flatMap(\.servers).map {
                    (UpstreamStage.origin(of: $0), $0.validates)
                },
                uniquingKeysWith: { first, _ in first }
            )
        }
    }

    /// Numbers of the former and the present sources of a name; nil for a name without
    /// route.
    private struct Pair: Hashable {
        let old: Int?
        let new: Int?
    }

    private let old: Plan
    private let new: Plan
    private let comparison: RouteTable.Comparison?
    private let origins: Origins

    /// The vendors whose answers are what they were: the same account, asked for the same client.
    private let sameVendors: Set<String>

    /// What is answered by the new settings themselves.
    private let overridden: @Sendable (Question) -> Bool

    /// Whether service bindings, or private addresses, are treated in another way.
    private let bindingsChanged: Bool
    private let rebindingChanged: Bool

    /// The ways of the pairs that were met, nil where both are the same.
    private var ways: [Pair: (old: Way, new: Way)?] = [:]

    /// Compares two plans.
    ///
    /// - Parameter comparison: that of their routes, if it is known already.
    init(
        from old: Plan,
        to new: Plan,
        comparison: RouteTable.Comparison? = nil,
        sameVendors: Set<String>,
        _ origins: Origins,
        overridden: @escaping @Sendable (Question) -> Bool
    ) {
        self.old = old
        self.new = new
        self.comparison = comparison
        self.sameVendors = sameVendors
        self.origins = origins
        self.overridden = overridden
        bindingsChanged = old.answers.serviceBindings != new.answers.serviceBindings
        rebindingChanged = old.answers.rebinding != new.answers.rebinding
    }

    /// Whether every name goes the way that it went, and nothing else is done to its answers.
    var isUneventful: Bool {
        guard !bindingsChanged, !rebindingChanged else { return false }
        let comparison = comparison ?? new.routes.comparison(with: old.routes)
        return comparison.claimsAreSame && same(nil, nil)
            && comparison.pairs.allSatisfy { same($0.old, $0.new) }
    }

    /// Whether an answer of this source, which has this number, is right now.
    func keeps(_ question: Question, _ source: AnswerSource, _ number: UInt16) -> Bool {
        guard !overridden(question) else { return false }
        if question.type.hasServiceBindings, bindingsChanged || rebindingChanged { return false }
        if question.type.isAddress, rebindingChanged, source == .upstream { return false }
        let before = old.routes.route(for: question.name)
        let now = new.routes.route(for: question.name)
        guard let ways = ways(before, now) else { return true }
        // Their addresses are those of the name: of whichever vendor that was.
        guard !question.type.hasServiceBindings else { return false }
        let isVendors = question.type.isAddress && question.name.isHostname
        switch source {
        case .local:
            return false
        case .vendor:
            guard isVendors, ways.old.fallsBack == ways.new.fallsBack,
                ways.old.allowsPrivateAnswers == ways.new.allowsPrivateAnswers,
                let giver = origins.vendor(number), sameVendors.contains(giver),
                let oldPlace = ways.old.vendors.firstIndex(of: giver),
                let newPlace = ways.new.vendors.firstIndex(of: giver)
            else { return false }
            return wereAsked(ways.new.vendors[..<newPlace], of: ways.old.vendors[..<oldPlace])
        case .upstream:
            let server = origins.name(number)
            guard let isBelieved = ways.new.servers[server],
                ways.old.servers[server] == isBelieved
            else { return false }
            guard question.type.isAddress else { return true }
            guard ways.old.allowsPrivateAnswers == ways.new.allowsPrivateAnswers,
                ways.old.hasOwnUpstreams == ways.new.hasOwnUpstreams
            else { return false }
            guard isVendors, !ways.new.vendors.isEmpty else { return true }
            return ways.new.fallsBack && wereAsked(ways.new.vendors[...], of: ways.old.vendors[...])
        }
    }

    /// Whether all these vendors had been asked before, and would say what they said.
    private func wereAsked(_ vendors: ArraySlice<String>, of old: ArraySlice<String>) -> Bool {
        vendors.allSatisfy { old.contains($0) && sameVendors.contains($0) }
    }

    private func same(_ before: RouteTable.Match?, _ now: RouteTable.Match?) -> Bool {
        ways(before, now) == nil
    }

    /// The ways of names with these routes; nil if they are the same.
    private func ways(
        _ before: RouteTable.Match?,
        _ now: RouteTable.Match?
    ) -> (old: Way, new: Way)? {
        let pair = Pair(old: before?.sources, new: now?.sources)
        if let known = ways[pair] { return known }
        let found = (old: Way(before, old), new: Way(now, new))
        let isSame = found.old == found.new && found.new.vendors.allSatisfy(sameVendors.contains)
        ways[pair] = .some(isSame ? nil : found)
        return isSame ? nil : found
    }
}

extension RecordType {
    /// Whether its records may carry addresses of a service (RFC 9460).
    fileprivate var hasServiceBindings: Bool { self == .https || self == .svcb }
}
