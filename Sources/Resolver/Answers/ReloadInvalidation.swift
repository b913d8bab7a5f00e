// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// Check of each cached answer after a reload: finds invalid answers with ``AnswerValidity``.
///
/// The caller must remove invalid answers; it is not sufficient to mark these answers as stale.
@ServiceLoop
final class ReloadInvalidation {
    /// Settings of a resolver that determine its answers.
    struct Plan {
        let routes: RouteTable
        let standard: UpstreamGroup?
        let answers: AnswerPolicy
    }

    private struct Pair: Hashable {
        let old: Int?
        let new: Int?
    }

    private let old: Plan
    private let new: Plan
    private let comparison: RouteTable.Comparison?
    private let validity: AnswerValidity

    private var ways: [Pair: (old: NameSources, new: NameSources)?] = [:]

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
        validity = AnswerValidity(
            origins: origins,
            sameVendors: sameVendors,
            overridden: overridden,
            bindingsChanged: old.answers.serviceBindings != new.answers.serviceBindings,
            rebindingChanged: old.answers.rebinding != new.answers.rebinding,
            synthesisChanged: old.answers.synthesis != new.answers.synthesis
                || old.answers.nat64 != new.answers.nat64
        )
    }

    /// True if sources and answer policy are unchanged, so that all cached answers stay valid.
    var isUneventful: Bool {
        guard !validity.bindingsChanged, !validity.rebindingChanged, !validity.synthesisChanged
        else { return false }
        let comparison = comparison ?? new.routes.comparison(with: old.routes)
        return comparison.claimsAreSame && same(nil, nil)
            && comparison.pairs.allSatisfy { same($0.old, $0.new) }
    }

    func keeps(_ question: Question, _ source: AnswerSource, _ number: UInt16) -> Bool {
        guard !validity.excludes(question, source) else { return false }
        let before = old.routes.route(for: question.name)
        let now = new.routes.route(for: question.name)
        guard let ways = ways(before, now) else { return true }
        return validity.keeps(question, source, number, ways.old, ways.new)
    }

    private func same(_ before: RouteTable.Match?, _ now: RouteTable.Match?) -> Bool {
        ways(before, now) == nil
    }

    /// Returns the sources of a name under its old and its new route; nil if the sources are equal.
    private func ways(
        _ before: RouteTable.Match?,
        _ now: RouteTable.Match?
    ) -> (old: NameSources, new: NameSources)? {
        let pair = Pair(old: before?.sources, new: now?.sources)
        if let known = ways[pair] { return known }
        let found = (old: NameSources(before, old), new: NameSources(now, new))
        let isSame = validity.areSame(found.old, found.new)
        ways[pair] = .some(isSame ? nil : found)
        return isSame ? nil : found
    }
}
