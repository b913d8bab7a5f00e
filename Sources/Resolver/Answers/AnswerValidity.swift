// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// Answer sources for the names of a route, or for names without a route.
struct NameSources: Equatable {
    let vendors: [String]
    let fallsBack: Bool
    let allowsPrivateAnswers: Bool

    /// Vendor parameters of the route; nil if the vendors' settings apply.
    let parameters: RouteParameters?

    /// True if the route has its own upstreams, which may answer with private addresses.
    let hasOwnUpstreams: Bool

    /// True for each upstream server that validates DNSSEC, by its name in `AnswerSourceRegistry`.
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
            (group?.members ?? []).flatMap { member in
                // The servers of a network change; the upstream stays the same.
                member is LearnedUpstream
                    ? [(member.name, false)]
                    : member.servers.map { (UpstreamStage.origin(of: $0), $0.validates) }
            },
            uniquingKeysWith: { first, _ in first }
        )
    }

    private init(_ other: NameSources, vendors: [String]) {
        self.vendors = vendors
        fallsBack = other.fallsBack
        allowsPrivateAnswers = other.allowsPrivateAnswers
        parameters = other.parameters
        hasOwnUpstreams = other.hasOwnUpstreams
        servers = other.servers
    }

    /// Returns the former sources that an answer implies if the former settings are unknown.
    ///
    /// - Parameter vendor: the vendor that gave the answer, or that had no address before an
    ///   upstream answered; nil if unknown.
    func former(asking vendor: String?) -> NameSources {
        NameSources(self, vendors: vendor.map { [$0] } ?? [])
    }
}

/// Rule that decides if a cached answer stays valid under new settings; usable on any thread.
///
/// An answer is valid if the new settings use its source, and do not put a source before it that
/// the old settings did not query. Therefore a vendor added at the end of a list causes no calls,
/// and a name that moved to another network gets no answer from the former network.
struct AnswerValidity: Sendable {
    let origins: AnswerSourceRegistry

    /// Names of vendors whose answers did not change with the settings.
    let sameVendors: Set<String>

    /// Returns true for questions with a local answer under the new settings, such as `hosts`.
    let overridden: @Sendable (Question) -> Bool

    /// True if the settings for service bindings have changed.
    let bindingsChanged: Bool
    let rebindingChanged: Bool

    /// True if other names get synthesized addresses.
    var synthesisChanged = false

    /// True if the old settings' vendor parameters for routes are unknown.
    var parametersUnknown = false

    /// True if the answer is invalid whatever the sources of its name are.
    func excludes(_ question: Question, _ source: AnswerSource) -> Bool {
        if overridden(question) { return true }
        if synthesisChanged, question.type == .aaaa || question.type == .ptr { return true }
        if question.type.isServiceBinding, bindingsChanged || rebindingChanged { return true }
        return question.type.isAddress && rebindingChanged && source == .upstream
    }

    /// True if both values have the same sources, and these give the same answers.
    func areSame(_ old: NameSources, _ new: NameSources) -> Bool {
        old == new && new.vendors.allSatisfy(sameVendors.contains)
    }

    /// True if an answer is valid although the sources of its name have changed.
    ///
    /// - Parameter number: the number of the answer's source in `AnswerSourceRegistry`.
    func keeps(
        _ question: Question,
        _ source: AnswerSource,
        _ number: UInt16,
        _ old: NameSources,
        _ new: NameSources
    ) -> Bool {
        // The cached record does not show which vendor's addresses are its hints.
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

    /// True if the old settings queried all of `vendors`, and these are unchanged.
    private func wereAsked(_ vendors: ArraySlice<String>, of old: ArraySlice<String>) -> Bool {
        vendors.allSatisfy { old.contains($0) && sameVendors.contains($0) }
    }
}
