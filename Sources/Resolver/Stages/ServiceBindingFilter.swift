// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Upstream

/// Filter of upstreams' answers: removes addresses and hints that the settings do not allow.
///
/// If vendors or the static hosts resolve the target of an SVCB or HTTPS record, cached or static
/// addresses of the target replace the address hints. Without such addresses, the record gets no
/// hints (RFC 9460 §7.3). The filter calls no vendor.
@ServiceLoop
final class ServiceBindingFilter {
    private let policy: AnswerPolicy
    private let lifetimes: TTLPolicy
    private let routes: ActiveRoutes
    private let localAnswers: LocalAnswers
    private let cache: AnswerCache
    private let clocks: Clocks
    private let prefixes: NAT64Prefixes

    init(
        _ policy: AnswerPolicy,
        _ lifetimes: TTLPolicy,
        routes: ActiveRoutes,
        localAnswers: LocalAnswers,
        cache: AnswerCache,
        clocks: Clocks,
        prefixes: @escaping NAT64Prefixes
    ) {
        self.policy = policy
        self.lifetimes = lifetimes
        self.routes = routes
        self.localAnswers = localAnswers
        self.cache = cache
        self.clocks = clocks
        self.prefixes = prefixes
    }

    func preview(
        _ query: Query,
        _ match: RouteTable.Match?,
        through group: UpstreamGroup?
    ) -> Decision.ResolutionPlan {
        var plan = Decision.ResolutionPlan()
        plan.refusal = refusal(query, match)
        guard plan.refusal == nil else { return plan }
        plan.upstreams = group?.standing ?? []
        plan.absence = group?.absence
        plan.asksUpstreams = true
        plan.alignsHints =
            query.question.type.isServiceBinding && match?.hasVendors ?? false
            && policy.serviceBindings == .align
        return plan
    }

    // MARK: - Local answers

    /// Returns the local answer to an SVCB or HTTPS query for a name with vendors.
    func refusal(_ query: Query, _ match: RouteTable.Match?) -> Resolution? {
        guard query.question.type.isServiceBinding, let match, match.hasVendors else {
            return nil
        }
        switch policy.serviceBindings {
        case .forward:
            return nil
        case .block:
            return noData(query, match, .blocked, "this server blocks HTTPS and SVCB records", .any)
        case .align where query.dnssecOK:
            // New hints would invalidate the record's signature.
            return noData(query, match, .synthesized, Self.misaligned, query.variant)
        case .align:
            return nil
        }
    }

    private static let misaligned = "the address hints in signed records cannot be replaced"

    // MARK: - Filtering replies

    /// Returns the changed answer; nil if `resolution` needs no change.
    func shaped(
        _ resolution: Resolution,
        _ query: Query,
        _ match: RouteTable.Match?
    ) -> Resolution? {
        let isBinding = query.question.type.isServiceBinding
        guard isBinding || policy.rebinding.protects else { return nil }
        let guards = policy.rebinding.guards(query.question.name, match)
        guard resolution.sections.answerCount > 0,
            isBinding || guards && query.question.type.isAddress,
            let message = resolution.sections.message(to: query.question)
        else { return nil }

        var isSubstitute = resolution.isSubstitute
        var shaping = AddressFilter(
            guards: guards,
            suppressed: query.dnssecOK ? [] : policy.suppressed,
            prefixes: guards ? prefixes() : []
        ) { [self] target, mayReplace in
            policy.serviceBindings == .align
                ? hints(target, query, match, mayReplace: mayReplace, &isSubstitute) : .theirs
        }
        shaping.shape(message.answers)
        guard shaping.hasChanged else { return nil }

        let isEmpty = !shaping.records.contains { $0.type == query.question.type }
        guard !isEmpty, !query.dnssecOK else {
            var denial =
                shaping.dropped > 0
                ? noData(query, match, .blocked, Self.rebound, query.variant)
                : noData(query, match, .synthesized, Self.misaligned, query.variant)
            denial.shorten(to: resolution.lifetime, query.question)
            denial.isSubstitute = resolution.isSubstitute
            return denial
        }
        var shaped = resolution
        shaped.lifetime = min(shaped.lifetime, shaping.lifetime)
        shaped.isSubstitute = isSubstitute
        return shaped.replacing(
            answers: shaping.records,
            of: query.question,
            authorities: message.authorities
        ) ?? .failure(query, .other, "the answer is too large for a DNS message")
    }

    private static let rebound = "private address for a public name (DNS rebinding)"

    /// If the queried name has vendors, but `target` has none, there are no hints: clients must
    /// not get addresses from an upstream for a name with vendors.
    private func hints(
        _ target: Name,
        _ query: Query,
        _ match: RouteTable.Match?,
        mayReplace: Bool,
        _ isSubstitute: inout Bool
    ) -> AddressFilter.Hints {
        if let addresses = localAnswers.hosts.addresses(of: target) {
            return .ours(addresses, seconds: ResolverLimits.hostsLifetime)
        }
        guard routes.route(for: target)?.hasVendors ?? false else {
            return match?.hasVendors ?? false ? .ours([], seconds: .max) : .theirs
        }
        guard mayReplace else { return .ours([], seconds: .max) }
        var addresses: [IPAddress] = []
        var seconds = UInt32.max
        for type in [RecordType.a, .aaaa] {
            let question = Question(name: target, type: type)
            let fresh = cache.freshAnswer(
                for: question,
                variant: query.variant,
                now: clocks.now()
            )
            guard let answer = fresh?.answer,
                let records = answer.sections.message(to: question)?.answers
            else { continue }
            let found = records.filter { $0.type == type }.compactMap(\.data.address)
            guard !found.isEmpty else { continue }
            if Resolution(answer).isSubstitute { isSubstitute = true }
            addresses += found
            seconds = min(seconds, answer.lifetime)
        }
        return .ours(addresses, seconds: seconds)
    }

    private func noData(
        _ query: Query,
        _ match: RouteTable.Match?,
        _ code: ExtendedError,
        _ text: String,
        _ variant: AnswerVariant
    ) -> Resolution {
        .noData(
            query.question,
            zone: match?.domain ?? query.question.name,
            seconds: lifetimes.negative.lowerBound,
            variant: variant,
            explanation: Explanation(code: code, text: text),
            provenance: .local
        )
    }
}
