// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Upstream

/// Asks upstreams, and leaves nothing in their answers that the settings do not want there.
///
/// Private addresses of public names go.  Hints in SVCB and HTTPS records, which would lead clients
/// past vendors and hosts, are ours or none if they are about names that are answered here: clients
/// then ask for the addresses (RFC 9460 §7.3), and get ours.  Ours are what the cache has; nothing is
/// asked, and so paid, for a hint.
@ServiceLoop
final class Aligning {
    private let policy: AnswerPolicy
    private let lifetimes: TTLPolicy
    private let routes: RouteTable
    private let overrides: Overrides
    private let upstreams: UpstreamStage
    private let cache: AnswerCache
    private let clocks: Clocks

    /// Puts this before `upstreams`.
    init(
        _ policy: AnswerPolicy,
        _ lifetimes: TTLPolicy,
        routes: RouteTable,
        overrides: Overrides,
        upstreams: UpstreamStage,
        cache: AnswerCache,
        clocks: Clocks
    ) {
        self.policy = policy
        self.lifetimes = lifetimes
        self.routes = routes
        self.overrides = overrides
        self.upstreams = upstreams
        self.cache = cache
        self.clocks = clocks
    }

    /// Tells the answer of upstreams as a client may have it, once, perhaps before this returns.
    func ask(
        _ query: Query,
        _ match: RouteTable.Match?,
        through group: UpstreamGroup?,
        deadline: ContinuousClock.Instant,
        trace: Trace?,
        cancellation: CancellationSignal?,
        _ tell: @escaping UpstreamStage.Tell
    ) {
        if let refusal = refusal(query, match) { return tell(refusal) }
        upstreams.ask(
            query,
            through: group,
            deadline: deadline,
            trace: trace,
            cancellation: cancellation
        ) { [self] resolution in
            tell(shaped(resolution, query, match))
        }
    }

    /// What `ask` would do, without asking anybody.
    func preview(
        _ query: Query,
        _ match: RouteTable.Match?,
        through group: UpstreamGroup?
    ) -> Decision.Course {
        var course = Decision.Course()
        course.refusal = refusal(query, match)
        guard course.refusal == nil else { return course }
        course.upstreams = group?.standing ?? []
        course.asksUpstreams = true
        course.alignsHints =
            query.question.type.isServiceBinding && match?.hasVendors ?? false
            && policy.serviceBindings == .align
        return course
    }

    // MARK: - Without asking

    /// What is said of the service bindings of a vendor's name that are not passed on at all.
    private func refusal(_ query: Query, _ match: RouteTable.Match?) -> Resolution? {
        guard query.question.type.isServiceBinding, let match, match.hasVendors else {
            return nil
        }
        switch policy.serviceBindings {
        case .forward:
            return nil
        case .block:
            return noData(query, match, .blocked, "such records are blocked here", .any)
        case .align where query.dnssecOK:
            // Signed records are passed as they are or not at all.
            return noData(query, match, .synthesized, Self.misaligned, query.variant)
        case .align:
            return nil
        }
    }

    private static let misaligned = "signed records cannot be aligned with a vendor's addresses"

    // MARK: - Of what was said

    /// The answer without what must not be told.
    private func shaped(
        _ resolution: Resolution,
        _ query: Query,
        _ match: RouteTable.Match?
    ) -> Resolution {
        let guards = policy.rebinding.guards(query.question.name, match)
        let isBinding = query.question.type.isServiceBinding
        guard resolution.sections.answerCount > 0,
            isBinding || guards && query.question.type.isAddress,
            let message = resolution.sections.message(to: query.question)
        else { return resolution }

        var shaping = Shaping(
            guards: guards,
            // Hints that are signed are heeded by nobody who cannot use them.
            suppressesAAAA: policy.suppressesAAAA && !query.dnssecOK
        ) { [self] target in
            policy.serviceBindings == .align ? hints(target, query, match) : .theirs
        }
        shaping.shape(message.answers)
        guard shaping.hasChanged else { return resolution }

        let isEmpty = !shaping.records.contains { $0.type == query.question.type }
        guard !isEmpty, !query.dnssecOK else {
            return shaping.dropped > 0
                ? noData(query, match, .blocked, Self.rebound, query.variant)
                : noData(query, match, .synthesized, Self.misaligned, query.variant)
        }
        var shaped = resolution
        shaped.lifetime = min(shaped.lifetime, shaping.lifetime)
        return shaped.replacing(
            answers: shaping.records,
            of: query.question,
            authorities: message.authorities
        ) ?? .failure(query, .other, "the answer does not fit a message")
    }

    private static let rebound = "a private address of a public name (DNS rebinding)"

    /// What the hints about a target are.
    ///
    /// A name that vendors answer may bind a service to a target that they do not: then there are
    /// none, as those of an upstream are what the route is there to avoid.
    private func hints(
        _ target: Name,
        _ query: Query,
        _ match: RouteTable.Match?
    ) -> Shaping.Hints {
        if let addresses = overrides.hosts.addresses(of: target) {
            return .ours(addresses, seconds: ResolverLimits.hostsLifetime)
        }
        guard routes.route(for: target)?.hasVendors ?? false else {
            return match?.hasVendors ?? false ? .ours([], seconds: .max) : .theirs
        }
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
