// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// The sources for names of a route, or for names without a route.
struct NameSources: Equatable {
    let vendors: [String]
    let fallsBack: Bool
    let allowsPrivateAnswers: Bool

    /// Parameters that the route sets for vendors; nil if those of the vendors' settings apply.
    let parameters: RouteParameters?

    /// True if the upstreams belong to the route; their answers may be private.
    let hasOwnUpstreams: Bool

    /// Names of the upstream servers as in `AnswerSourceRegistry`, and whether each validates DNSSEC.
    let servers: [String: Bool]

    @ServiceLoop
    init(_ match: RouteTable.Match?, _ plan: ReloadInvalidation.Plan) {
        let route = match?.route
        let group = route?.upstreams ?? plan.standard
        vendors = route?.vendors.map(\.name) ?? []
        fallsBack = route?.fallsBack ?? true
        allowsPrivateAnswers = route?.allowsPrivateAnswers ?? false
        parameters = route?.options.parameters
        hasOwnUpstreams = route?.upstreams != nil
        servers = Dictionary(
            (group?.members ?? []).flatMap(\.servers).map {
                (UpstreamStage.origin(of: $0), $0.validates)
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Creates the same sources with these vendors.
    private init(_ other: NameSources, vendors: [String]) {
        self.vendors = vendors
        fallsBack = other.fallsBack
        allowsPrivateAnswers = other.allowsPrivateAnswers
        parameters = other.parameters
        hasOwnUpstreams = other.hasOwnUpstreams
        servers = other.servers
    }

    /// Returns the sources that the former settings must have had to give an answer; the former
    /// settings themselves are unknown.
    ///
    /// - Parameter vendor: the vendor that gave the answer, or had no address before an upstream
    ///   gave it; nil if neither is known.
    func former(asking vendor: String?) -> NameSources {
        NameSources(self, vendors: vendor.map { [$0] } ?? [])
    }
}

/// The rule by which a cached answer is valid under new settings; usable on any thread.
///
/// An answer is valid if the new settings use its source, and query no source before it that the
/// old settings did not query.  A vendor added at the end of a list causes no new calls; a name
/// that moved to another network is not answered from the former one.
struct AnswerValidity: Sendable {
    let origins: AnswerSourceRegistry

    /// Names of the vendors that still give the same answers.
    let sameVendors: Set<String>

    /// True for questions with a local answer under the new settings, such as `hosts`.
    let overridden: @Sendable (Question) -> Bool

    /// True if the treatment of service bindings, or of private addresses, has changed.
    let bindingsChanged: Bool
    let rebindingChanged: Bool

    /// True if other names get synthesized addresses.
    var synthesisChanged = false

    /// True if the former parameters of routes for vendors are unknown.
    var parametersUnknown = false

    /// True if the answer is invalid whatever the sources of the name are.
    func excludes(_ question: Question, _ source: AnswerSource) -> Bool {
        if overridden(question) { return true }
        if synthesisChanged, question.type == .aaaa || question.type == .ptr { return true }
        if question.type.isServiceBinding, bindingsChanged || rebindingChanged { return true }
        return question.type.isAddress && rebindingChanged && source == .upstream
    }

    /// True if both settings have the same sources, with the same answers.
    func areSame(_ old: NameSources, _ new: NameSources) -> Bool {
        old == new && new.vendors.allSatisfy(sameVendors.contains)
    }

    /// True if an answer of this source, with this number in `AnswerSourceRegistry`, is still valid
    /// although the sources of the name have changed.
    func keeps(
        _ question: Question,
        _ source: AnswerSource,
        _ number: UInt16,
        _ old: NameSources,
        _ new: NameSources
    ) -> Bool {
        // The cached record does not show which vendor's addresses are in its hints.
        guard !question.type.isServiceBinding else { return false }
        let isVendors = question.type.isAddress && question.name.isHostname
        switch source {
        case .local:
            return false
        case .vendor:
            guard isVendors, hasSameParameters(old, new), old.fallsBack == new.fallsBack,
                old.allowsPrivateAnswers == new.allowsPrivateAnswers,
                let giver = origins.vendor(number), sameVendors.contains(giver),
                let oldPlace = old.vendors.firstIndex(of: giver),
                let newPlace = new.vendors.firstIndex(of: giver)
            else { return false }
            return wereAsked(new.vendors[..<newPlace], of: old.vendors[..<oldPlace])
        case .upstream:
            let server = origins.name(number)
            guard let isBelieved = new.servers[server], old.servers[server] == isBelieved
            else { return false }
            guard question.type.isAddress else { return true }
            guard old.allowsPrivateAnswers == new.allowsPrivateAnswers,
                old.hasOwnUpstreams == new.hasOwnUpstreams
            else { return false }
            guard isVendors, !new.vendors.isEmpty else { return true }
            return new.fallsBack && hasSameParameters(old, new)
                && wereAsked(new.vendors[...], of: old.vendors[...])
        }
    }

    private func hasSameParameters(_ old: NameSources, _ new: NameSources) -> Bool {
        !parametersUnknown && old.parameters == new.parameters
    }

    /// True if the old settings queried all these vendors, and the vendors have not changed.
    private func wereAsked(_ vendors: ArraySlice<String>, of old: ArraySlice<String>) -> Bool {
        vendors.allSatisfy { old.contains($0) && sameVendors.contains($0) }
    }
}
