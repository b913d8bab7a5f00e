// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
internal import HTTPDNS

/// Check of the answers in a snapshot after a restart: finds valid answers; thread-safe.
///
/// If the digests of the settings in the snapshot equal the current digests, all answers are valid,
/// except answers that depend on the network, and answers for which a local answer now exists.
/// Otherwise, `AnswerValidity` checks each answer.
///
/// A snapshot contains the source of an answer, but not the other sources of the old route.
/// Therefore, after a change of routes or upstreams, an answer is invalid if the new settings query
/// another source before the source of the answer.
package struct SnapshotValidity: Sendable {
    let routes: RouteTable

    /// Routing domains of links; restored answers for names in these domains are invalid.
    let routingDomains: Set<Name>

    let standard: NameSources

    /// Sources of names with a route; the index is `RouteTable.Match.sources`.
    let sources: [NameSources]

    let answers: AnswerPolicy

    let vendors: [String: String]

    let origins: AnswerSourceRegistry

    let overridden: @Sendable (Question) -> Bool

    // MARK: - Digests

    package var digests: [String: UInt64] {
        var digests = vendors.map { (Self.vendorKey($0.key), SettingsDigest.of($0.value)) }
        digests.append((Self.routesKey, routesDigest))
        if let parametersDigest { digests.append((Self.parametersKey, parametersDigest)) }
        digests.append((Self.bindingsKey, SettingsDigest.of("\(answers.serviceBindings)")))
        digests.append((Self.rebindingKey, answers.rebinding.digest))
        if let nat64 = answers.nat64 {
            digests.append((Self.nat64Key, SettingsDigest.of("\(nat64)")))
        }
        return Dictionary(digests) { first, _ in first }
    }

    private static let routesKey = "routes"
    private static let parametersKey = "route-parameters"
    private static let bindingsKey = "service-bindings"
    private static let rebindingKey = "rebinding"
    private static let nat64Key = "nat64"
    private static func vendorKey(_ name: String) -> String { "vendor \(name)" }

    private var routesDigest: UInt64 {
        var digest = SettingsDigest()
        digest.add(standard.digest)
        digest.add(routes.digest(sources.map(\.digest)))
        return digest.value
    }

    private var parametersDigest: UInt64? {
        guard sources.contains(where: { $0.parameters != nil }) else { return nil }
        return routes.digest(sources.map { SettingsDigest.of($0.parameters?.text ?? "") })
    }

    // MARK: - Selection

    /// Returns a predicate: true if an answer of the snapshot is still valid.
    ///
    /// - Parameter former: the digests in the snapshot; empty for a file without digests.
    package func selection(_ former: [String: UInt64]) -> (CachedAnswer) -> Bool {
        // The network or its NAT64 prefix may have changed.
        let dependsOnNetwork = { [origins] (answer: CachedAnswer) in
            origins.isSynthesized(answer.server) || origins.isLearned(answer.server)
        }
        let judge = judge(former)
        return { [routes, routingDomains] answer in
            !dependsOnNetwork(answer) && !routes.areTaken(routingDomains, answer.question.name)
                && judge(answer)
        }
    }

    private func judge(_ former: [String: UInt64]) -> (CachedAnswer) -> Bool {
        let current = digests
        func isSame(_ key: String) -> Bool { former[key] == current[key] }
        if former == current {
            return { [overridden] in !overridden($0.question) }
        }
        let validity = AnswerValidity(
            origins: origins,
            sameVendors: Set(vendors.keys.filter { isSame(Self.vendorKey($0)) }),
            overridden: overridden,
            bindingsChanged: !isSame(Self.bindingsKey),
            rebindingChanged: !isSame(Self.rebindingKey),
            synthesisChanged: !isSame(Self.nat64Key),
            parametersUnknown: !isSame(Self.parametersKey)
        )
        let knowsFormer = isSame(Self.routesKey)
        return { [self] answer in
            let (question, source) = (answer.question, answer.source)
            guard !validity.excludes(question, source) else { return false }
            let match = routes.route(for: question.name)
            let new = match.map { sources[$0.sources] } ?? standard
            guard !knowsFormer else {
                return validity.areSame(new, new)
                    || validity.keeps(question, source, answer.server, new, new)
            }
            let old = new.former(asking: origins.vendor(answer.server))
            return validity.keeps(question, source, answer.server, old, new)
                && isAllowed(answer, match)
        }
    }

    private func isAllowed(_ answer: CachedAnswer, _ match: RouteTable.Match?) -> Bool {
        guard answer.question.type.isAddress else { return true }
        switch answer.source {
        case .local:
            return false
        case .vendor:
            // A negative answer is invalid: the old route may have had no fallback, and a fallback
            // of the new route may return an address.
            guard answer.sections.answerCount > 0 else { return false }
            return match?.route.allowsPrivateAnswers ?? false
                || reaches(answer).allSatisfy { $0 != .local }
        case .upstream:
            return !answers.rebinding.guards(answer.question.name, match)
                || reaches(answer).allSatisfy { $0 == .global }
        }
    }

    private func reaches(_ answer: CachedAnswer) -> [AddressReach] {
        let records = answer.sections.message(to: answer.question)?.answers ?? []
        let prefixes = [answers.nat64].compactMap(\.self)
        return records.compactMap { $0.data.address?.reach(through: prefixes) }
    }
}

extension NameSources {
    fileprivate var digest: UInt64 {
        var digest = SettingsDigest()
        digest.add(UInt64(vendors.count))
        for vendor in vendors { digest.add(vendor) }
        for flag in [fallsBack, allowsPrivateAnswers, hasOwnUpstreams] { digest.add(flag) }
        if let parameters { digest.add(parameters.text) }
        for (server, validates) in servers.sorted(by: { $0.key < $1.key }) {
            digest.add(server)
            digest.add(validates)
        }
        return digest.value
    }
}

extension Rebinding {
    fileprivate var digest: UInt64 {
        var digest = SettingsDigest()
        digest.add(protects)
        for exception in exceptions { digest.add(exception) }
        return digest.value
    }
}
