// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// Decides after a reload which cached answers are still valid.
///
/// An answer is valid if the new settings use its source, and query no source before it that the
/// old settings did not query.  A vendor added at the end of a list causes no new calls; a name
/// that moved to another network is not answered from the former one.  Invalid answers are removed,
/// not marked stale, because they must not be served even if no source responds.
@ServiceLoop
final class ReloadInvalidation {
    /// The parts of a resolver's settings that determine its answers.
    struct Plan {
        let routes: RouteTable
        let standard: UpstreamGroup?
        let answers: AnswerPolicy
    }

    /// The sources for names of a route, or for names without a route.
    private struct Way: Equatable {
        let vendors: [String]
        let fallsBack: Bool
        let allowsPrivateAnswers: Bool

        /// True if the upstreams belong to the route; their answers may be private.
        let hasOwnUpstreams: Bool

        /// Names of the upstream servers as in `AnswerSourceRegistry`, and whether each validates DNSSEC.
        let servers: [String: Bool]

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

    /// Numbers of the former and the present sources of a name; nil for a name without a route.
    private struct Pair: Hashable {
        let old: Int?
        let new: Int?
    }

    private let old: Plan
    private let new: Plan
    private let comparison: RouteTable.Comparison?
    private let origins: AnswerSourceRegistry

    /// Names of the vendors that still give the same answers.
    private let sameVendors: Set<String>

    /// True for questions with a local answer under the new settings, such as `hosts`.
    private let overridden: @Sendable (Question) -> Bool

    /// True if the treatment of service bindings, or of private addresses, has changed.
    private let bindingsChanged: Bool
    private let rebindingChanged: Bool

    /// Sources of the pairs compared so far; nil if both are equal.
    private var ways: [Pair: (old: Way, new: Way)?] = [:]

    /// Compares two plans.
    ///
    /// - Parameter comparison: result of comparing the routes; computed on demand if nil.
    init(
        from old: Plan,
        to new: Plan,
        comparison: RouteTable.Comparison? = nil,
        sameVendors: Set<String>,
        _ origins: AnswerSourceRegistry,
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

    /// True if every name has the same sources, and answers are treated in the same way.
    var isUneventful: Bool {
        guard !bindingsChanged, !rebindingChanged else { return false }
        let comparison = comparison ?? new.routes.comparison(with: old.routes)
        return comparison.claimsAreSame && same(nil, nil)
            && comparison.pairs.allSatisfy { same($0.old, $0.new) }
    }

    /// True if an answer of this source, with this number in `AnswerSourceRegistry`, is still valid.
    func keeps(_ question: Question, _ source: AnswerSource, _ number: UInt16) -> Bool {
        guard !overridden(question) else { return false }
        if question.type.hasServiceBindings, bindingsChanged || rebindingChanged { return false }
        if question.type.isAddress, rebindingChanged, source == .upstream { return false }
        let before = old.routes.route(for: question.name)
        let now = new.routes.route(for: question.name)
        guard let ways = ways(before, now) else { return true }
        // The cached record does not show which vendor's addresses are in its hints.
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

    /// True if the old settings queried all these vendors, and the vendors have not changed.
    private func wereAsked(_ vendors: ArraySlice<String>, of old: ArraySlice<String>) -> Bool {
        vendors.allSatisfy { old.contains($0) && sameVendors.contains($0) }
    }

    private func same(_ before: RouteTable.Match?, _ now: RouteTable.Match?) -> Bool {
        ways(before, now) == nil
    }

    /// Returns the sources of names with these routes; nil if they are equal.
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
    /// True for records that can carry address hints (RFC 9460).
    fileprivate var hasServiceBindings: Bool { self == .https || self == .svcb }
}
