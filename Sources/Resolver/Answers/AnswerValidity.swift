// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// Answer sources that the settings define for a name.
struct NameSources: Equatable {
    let vendors: [String]
    let fallsBack: Bool
    let allowsPrivateAnswers: Bool

    let parameters: RouteParameters?

    /// True if the route has its own upstreams, which may return private addresses.
    let hasOwnUpstreams: Bool

    /// Upstream servers by name; the value is true if the server is trusted to validate DNSSEC.
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
                // The network can change the servers of this upstream without a change of the
                // settings.
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

    /// Returns a copy with `vendor` as the only vendor.
    ///
    /// The copy represents the sources of a name before a restart. Of these sources, the snapshot
    /// contains only `vendor`.
    func former(asking vendor: String?) -> NameSources {
        NameSources(self, vendors: vendor.map { [$0] } ?? [])
    }
}

/// Validity of cached answers under new settings; thread-safe.
///
/// An answer is valid if the new settings still use its source for the name, and if the daemon now
/// queries no additional source before this source.
struct AnswerValidity: Sendable {
    let origins: AnswerSourceRegistry

    let sameVendors: Set<String>

    /// Returns true for questions with a local answer under the new settings (such as `hosts`).
    let overridden: @Sendable (Question) -> Bool

    let bindingsChanged: Bool
    let rebindingChanged: Bool

    var synthesisChanged = false

    var parametersUnknown = false

    /// True if an answer to `question` is invalid even if the sources of the name are unchanged.
    func excludes(_ question: Question, _ source: AnswerSource) -> Bool {
        if overridden(question) { return true }
        if synthesisChanged, question.type == .aaaa || question.type == .ptr { return true }
        if question.type.isServiceBinding, bindingsChanged || rebindingChanged || synthesisChanged {
            return true
        }
        // If `rebinding` removed the private addresses of an upstream's answer, the cached NODATA
        // has the source `local`.
        return question.type.isAddress && rebindingChanged && source != .vendor
    }

    func areSame(_ old: NameSources, _ new: NameSources) -> Bool {
        old == new && new.vendors.allSatisfy(sameVendors.contains)
    }

    func keeps(
        _ question: Question,
        _ source: AnswerSource,
        _ number: UInt16,
        _ old: NameSources,
        _ new: NameSources
    ) -> Bool {
        // The cache does not store from which vendor the addresses in the hints came.
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

    private func wereAsked(_ vendors: ArraySlice<String>, of old: ArraySlice<String>) -> Bool {
        vendors.allSatisfy { old.contains($0) && sameVendors.contains($0) }
    }
}
