// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS
internal import Net
internal import Upstream

/// Stage that resolves a query once for all waiting clients, and caches the result.
@ServiceLoop
final class SharedResolution {
    private let policy: TTLPolicy
    let vendors: VendorStage
    let upstreams: UpstreamStage
    let addressGuard: ServiceBindingFilter
    private let denials: DenialFilter

    private let standard: UpstreamGroup?

    /// Default upstreams for routes with `fallback: none`; excludes upstreams that get their
    /// servers from the network or a file (`from`).
    private let chosen: UpstreamGroup?

    private let dns64: DNS64
    private let localAnswers: LocalAnswers
    private let cacheWriter: CacheWriter

    private let addressOrdering: AddressOrdering?

    init(
        _ policy: TTLPolicy,
        vendors: VendorStage,
        upstreams: UpstreamStage,
        _ addressGuard: ServiceBindingFilter,
        _ denials: DenialFilter,
        standard: UpstreamGroup?,
        chosen: UpstreamGroup?,
        _ dns64: DNS64,
        _ localAnswers: LocalAnswers,
        _ cacheWriter: CacheWriter,
        _ addressOrdering: AddressOrdering?
    ) {
        self.policy = policy
        self.vendors = vendors
        self.upstreams = upstreams
        self.addressGuard = addressGuard
        self.denials = denials
        self.standard = standard
        self.chosen = chosen
        self.dns64 = dns64
        self.localAnswers = localAnswers
        self.cacheWriter = cacheWriter
        self.addressOrdering = addressOrdering
    }

    /// True if the route `match` has an encrypted upstream that is not down.
    func encrypts(_ match: RouteTable.Match) -> Bool {
        group(match)?.hasProtectedServer ?? false
    }

    private func group(_ match: RouteTable.Match?) -> UpstreamGroup? {
        guard let route = match?.route else { return standard }
        return route.upstreams ?? (route.fallsBack ? standard : chosen)
    }

    /// Returns the sources that `begin` would query; sends nothing.
    func preview(_ query: Query, _ match: RouteTable.Match?) -> Decision.ResolutionPlan {
        let match = dns64.match(query, match)
        let group = group(match)
        guard let match, match.asksVendors(query) else {
            return addressGuard.preview(query, match, through: group)
        }
        var plan = Decision.ResolutionPlan()
        plan.vendors = vendors.preview(match)
        plan.emptyVendor = vendors.emptyVendor(query)
        plan.fleet = vendors.fleet?.outlook(match)
        if match.route.fallsBack {
            plan.upstreams = group?.standing ?? []
            plan.absence = group?.absence
            plan.asksUpstreams = true
        }
        return plan
    }

    /// If the name of `query` waits in a vendor's queue, also queues the name for `client`.
    ///
    /// The limits of `client` may permit a call that the limits of the other clients prevent.
    func join(_ query: Query, _ match: RouteTable.Match?, of client: ClientNetwork) {
        guard let match, match.asksVendors(query) else { return }
        vendors.join(query, match, of: client)
    }

    /// Resolves `query` by its deadline, possibly before this function returns.
    func begin(_ query: PendingQuery) {
        query.networksLeft = cacheWriter.networksLeft
        query.generation = cacheWriter.generation
        query.resolution = self
        dns64.noteQuery()
        if let target = dns64.pointerTarget(of: query.query) {
            return dns64.pointer(query, target, Completion { query.resolution?.end(query, $0) })
        }
        query.match = dns64.match(query.query, query.match)
        if let match = query.match, match.asksVendors(query.query) {
            let asksUpstreams = match.route.fallsBack && group(match) != nil
            VendorFallback(query, match, self, policy, denials, asksUpstreams: asksUpstreams)
                .begin()
        } else {
            // Captures only `query`, and therefore needs no allocation.
            let answered = Completion<Resolution> {
                query.resolution?.upstreamsAnswered(query, $0)
            }
            askUpstreams(query, now: query.began, answered)
        }
    }

    private func upstreamsAnswered(_ query: PendingQuery, _ answer: Resolution) {
        guard let match = query.match else { return end(query, ResolvedAnswer(answer)) }
        let isEmpty = vendors.emptyVendor(query.query) != nil
        let filtered = denials.filtered(answer, query.query, match, isVendorEmpty: isEmpty)
        end(query, ResolvedAnswer(filtered))
    }

    func askUpstreams(
        _ query: PendingQuery,
        now: Instant,
        _ completion: consuming Completion<Resolution>
    ) {
        if query.query.question.type.isServiceBinding,
            let refusal = addressGuard.refusal(query.query, query.match)
        {
            return completion(refusal)
        }
        upstreams.ask(query, through: group(query.match), now: now, completion)
    }

    func end(_ query: PendingQuery, _ answer: ResolvedAnswer) {
        dns64.complete(answer, query, Completion { query.resolution?.finish(query, $0) })
    }

    private func finish(_ query: PendingQuery, _ answer: ResolvedAnswer) {
        if query.isCancelled, answer.resolution.isFailure { return query.end(answer) }
        var changed = cache(answer, query)
        if let stale = query.sharedStale, (changed ?? answer).resolution.isFailure {
            changed = changed ?? answer
            changed?.resolution = stale
        }
        if let changed { query.end(changed) } else { query.end(answer) }
    }

    func replace(_ query: PendingQuery, _ answer: ResolvedAnswer) {
        let completion = Completion<ResolvedAnswer> { _ = query.resolution?.cache($0, query) }
        dns64.complete(answer, query, completion)
    }

    /// Caches an answer that another machine has shared.
    func push(_ answer: ResolvedAnswer, to question: Question, _ match: RouteTable.Match) {
        let now = vendors.clocks.now()
        let query = PendingQuery(
            Query(question: question),
            match,
            now: now,
            deadline: now,
            Completion { _ in }
        )
        query.resolution = self
        replace(query, answer)
        query.end(answer)
    }

    /// Caches an answer; returns the answer for the clients if it differs from `answer`.
    private func cache(_ answer: ResolvedAnswer, _ query: PendingQuery) -> ResolvedAnswer? {
        guard addressOrdering != nil || localAnswers.mayChange(answer, query.query) else {
            cacheWriter.keep(answer, query)
            return nil
        }
        var answer = answer
        localAnswers.guardCache(against: &answer, query.query)
        cacheWriter.keep(answer, query)
        addressOrdering?.order(&answer, query.query, query.match)
        return answer
    }
}

extension Resolution {
    /// Creates a SERVFAIL that is cached for ``ResolverLimits/failureLifetime`` (RFC 9520 §3.2).
    static func failure(
        _ query: Query,
        _ code: ExtendedError,
        _ text: String,
        isUnanswered: Bool = false
    ) -> Resolution {
        var failure = Resolution(
            rcode: .servFail,
            lifetime: ResolverLimits.failureLifetime,
            variant: query.variant,
            explanation: Explanation(code: code, text: text),
            provenance: .local
        )
        failure.isUnanswered = isUnanswered
        return failure
    }
}
