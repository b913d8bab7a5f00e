// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net

/// One query to the vendors of a route, with the upstreams as fallback.
///
/// If a vendor does not answer within `Route.Options.fallbackAfter`, the next vendor also gets the
/// query. The upstreams are queried at most once:
/// - after all vendors have failed, or have replied without an address, or
/// - as an *early fallback*, if the last vendor also does not answer within `fallbackAfter`. The
///   client gets an early answer immediately, with a short TTL; a later answer of a vendor replaces
///   it in the cache.
///
/// If the cache has an entry for the query, fresh or stale, there is no early fallback, because it
/// would replace this entry.
@ServiceLoop
final class VendorFallback {
    private let pending: PendingQuery
    private let match: RouteTable.Match
    private let resolution: SharedResolution
    private let policy: TTLPolicy
    private let denials: DenialFilter

    private let asksUpstreams: Bool

    private let vendorsLeft: VendorStage.RemainingVendors

    /// Number of vendors that got the query and have not finished.
    private var vendorsAsked = 0

    /// First answer of a vendor; if no vendor answers, the combined result of all vendors.
    private var vendorResult: VendorStage.Result?

    private var partialResult: VendorStage.Result?
    private var upstreamAnswer: Resolution?
    private var hasAskedUpstreams = false

    /// True if a limit of a client had prevented a vendor call when the early fallback started.
    private var isEarlyOfClient = false
    private var isOver = false
    private var timer: (any Cancellable)?

    init(
        _ pending: PendingQuery,
        _ match: RouteTable.Match,
        _ resolution: SharedResolution,
        _ policy: TTLPolicy,
        _ denials: DenialFilter,
        asksUpstreams: Bool
    ) {
        self.pending = pending
        self.match = match
        self.resolution = resolution
        self.policy = policy
        self.denials = denials
        self.asksUpstreams = asksUpstreams
        vendorsLeft = VendorStage.RemainingVendors(of: match)
    }

    private var query: Query { pending.query }

    /// Limit that prevented a vendor call, if this call could have changed the result.
    private var limit: VendorStage.Limit? {
        if case .empty? = vendorResult { vendorsLeft.callLimit } else { vendorsLeft.limit }
    }

    /// If true, the result is not cached, because the limits of other clients may permit the call.
    private var isOfClient: Bool { limit == .ofClient }

    /// True for a refresh: no client waits, and the cache has a fresh answer.
    private var isRefresh: Bool {
        guard pending.table != nil, !pending.waiters.contains(where: { $0.isAwaited && !$0.isOver })
        else { return false }
        return denials.cache.freshAnswer(
            for: query.question,
            variant: query.variant,
            now: denials.clocks.now()
        ) != nil
    }

    func begin() {
        let start = denials.clocks.now()
        // If the cache has an answer, the query does not wait for another machine of the fleet.
        let isCovered =
            resolution.vendors.fleet != nil && match.route.servesStale
            && denials.cache.lastResort(
                for: query.question,
                variant: query.variant,
                now: start
            ) != nil
        askVendors(isCovered: isCovered)
        guard vendorResult == nil, asksUpstreams, let delay = match.route.options.fallbackAfter
        else { return }
        timer = denials.clocks.timer(start + delay) { [self] in askEarly() }
    }

    private func askVendors(isCovered: Bool) {
        vendorsAsked += 1
        resolution.vendors.ask(
            pending,
            match,
            vendorsLeft,
            isCovered: isCovered,
            Completion { [self] in vendorFinished($0) }
        )
    }

    private func askEarly() {
        timer = nil
        let entry = denials.cache.lastResort(
            for: query.question,
            variant: query.variant,
            now: denials.clocks.now()
        )
        guard vendorResult == nil, entry == nil else { return }
        if let delay = match.route.options.fallbackAfter {
            let isProtected = resolution.encrypts(match)
            if let end = resolution.vendors.waitEnd(
                query.question,
                match,
                after: delay,
                isProtected: isProtected
            ) {
                timer = denials.clocks.timer(end) { [self] in askEarly() }
                return
            }
            if let next = resolution.vendors.nextVendor(vendorsLeft, isProtected: isProtected) {
                pending.trace?.note("no vendor has answered yet: also querying \(next.name)")
                let count = vendorsAsked
                askVendors(isCovered: false)
                guard vendorResult == nil else { return }
                if vendorsAsked > count {
                    timer = denials.clocks.timer(denials.clocks.now() + delay) { [self] in
                        askEarly()
                    }
                    return
                }
            }
        }
        guard !staysEncrypted else { return }
        pending.trace?.note("no vendor has answered yet: querying upstreams")
        isEarlyOfClient = isOfClient || resolution.vendors.waitsForShare(query.question, match)
        if isEarlyOfClient, let delay = match.route.options.fallbackAfter {
            // The limits of the clients that joined within the last `delay` may permit a call.
            pending.table?.separate(pending, since: denials.clocks.now() - delay)
        }
        askUpstreams()
    }

    private func askUpstreams() {
        guard !hasAskedUpstreams else { return }
        hasAskedUpstreams = true
        let completion = Completion<Resolution> { [self] in upstreamsAnswered($0) }
        resolution.askUpstreams(pending, now: denials.clocks.now(), completion)
    }

    private func upstreamsAnswered(_ answer: Resolution) {
        upstreamAnswer = answer
        if vendorResult != nil { return combine() }
        guard !answer.isFailure else { return }
        var early = filtered(answer, isVendorEmpty: false, hasVendorFailed: true)
        early.becomeSubstitute(for: ResolverLimits.earlyLifetime, query.question)
        if isEarlyOfClient { early.lifetime = 0 }
        early.provenance.fallback = .early
        complete(ResolvedAnswer(early))
    }

    /// Uses the first answer of a vendor; without an answer, waits for the other vendors.
    private func vendorFinished(_ result: VendorStage.Result) {
        vendorsAsked -= 1
        if case .answered? = vendorResult { return }
        if case .answered = result { return vendorsFinished(result) }
        let result = partialResult.map { $0.merged(with: result) } ?? result
        partialResult = result
        if vendorsAsked == 0 { vendorsFinished(result) }
    }

    private func vendorsFinished(_ result: VendorStage.Result) {
        vendorResult = result
        timer?.cancel()
        timer = nil
        if case .answered(let answer) = result { return vendorAnswered(answer) }
        // The limits of the other clients may permit a call.
        if isOfClient { pending.table?.separate(pending) }
        if !isOver { finishWithoutVendor(result) }
    }

    private func vendorAnswered(_ answer: ResolvedAnswer) {
        var answer = answer
        if vendorsLeft.isLessProtected {
            pending.table?.separate(pending)
            answer.resolution.lifetime = 0
            answer.siblings = []
            return complete(answer)
        }
        limitDenials(in: &answer)
        if isOver { resolution.replace(pending, answer) } else { complete(answer) }
    }

    private func limitDenials(in answer: inout ResolvedAnswer) {
        guard let limit = vendorsLeft.callLimit else { return }
        func shorten(_ denial: inout Resolution, _ question: Question) {
            switch limit {
            case .ofClient: denial.lifetime = 0
            case .ofVendor: denial.shorten(to: policy.negative.lowerBound, question)
            }
        }
        if answer.resolution.sections.answerCount == 0 {
            if limit == .ofClient { pending.table?.separate(pending) }
            shorten(&answer.resolution, query.question)
        }
        for index in answer.siblings.indices
        where answer.siblings[index].resolution.sections.answerCount == 0 {
            shorten(&answer.siblings[index].resolution, answer.siblings[index].question)
        }
    }

    private func finishWithoutVendor(_ result: VendorStage.Result) {
        guard match.route.fallsBack else {
            guard case .empty(let provenance, let siblings) = result else {
                return fail("no vendor answered", isCrowded: vendorsLeft.lacksCall)
            }
            var nothing = Resolution.noData(
                query.question,
                zone: match.domain,
                seconds: policy.negative.lowerBound,
                provenance: provenance
            )
            if isOfClient { nothing.lifetime = 0 }
            return complete(ResolvedAnswer(nothing, siblings: siblings))
        }
        guard asksUpstreams else {
            let reason = if case .empty = result { "returned an address" } else { "answered" }
            let text = "no vendor \(reason), and no upstream is configured for this name"
            return fail(text, isCrowded: vendorsLeft.lacksCall, siblings: result.siblings)
        }
        if case .failed = result, isRefresh {
            return fail("no vendor answered, and the cached answer is kept")
        }
        if staysEncrypted {
            let text =
                "calls of other clients prevented a call to a protected vendor; "
                + "only unprotected sources are left"
            return fail(text, isCrowded: true, siblings: result.siblings)
        }
        let reason = if case .empty = result { "returned an address" } else { "answered" }
        pending.trace?.note("no vendor \(reason): querying upstreams")
        if upstreamAnswer != nil { combine() } else { askUpstreams() }
    }

    private func combine() {
        guard !isOver, let answer = upstreamAnswer, let result = vendorResult else {
            return
        }
        var fallback: ResolvedAnswer
        switch result {
        case .answered: return
        case .empty(let provenance, let siblings):
            let upstream = filtered(answer, isVendorEmpty: true, siblings: siblings)
            fallback = ResolvedAnswer(upstream, siblings: siblings)
            resolution.vendors.note(&fallback.resolution, after: provenance)
            fallback.resolution.provenance.fallback = .empty
        case .failed:
            let upstream = filtered(answer, isVendorEmpty: false, hasVendorFailed: true)
            fallback = ResolvedAnswer(upstream)
            fallback.resolution.provenance.fallback = .failed
            let limit = ResolverLimits.substituteLifetime
            fallback.resolution.becomeSubstitute(for: limit, query.question)
        }
        if limit != nil {
            let limit = ResolverLimits.earlyLifetime
            fallback.resolution.becomeSubstitute(for: limit, query.question)
        }
        if isOfClient { fallback.resolution.lifetime = 0 }
        complete(fallback)
    }

    private func filtered(
        _ answer: Resolution,
        isVendorEmpty: Bool,
        hasVendorFailed: Bool = false,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) -> Resolution {
        denials.filtered(
            answer,
            query,
            match,
            isVendorEmpty: isVendorEmpty,
            hasVendorFailed: hasVendorFailed,
            siblings: siblings
        )
    }

    /// True if other clients' calls prevented a call to an encrypted vendor, and no upstream is
    /// encrypted.
    ///
    /// The upstreams then do not get the name.
    private var staysEncrypted: Bool {
        vendorsLeft.isCrowded && !hasAskedUpstreams && !resolution.encrypts(match)
    }

    /// Completes the query with SERVFAIL.
    ///
    /// - Parameter isCrowded: true if other clients' calls prevented a vendor call. A client
    ///   without a proven address then gets a truncated reply, so that the client repeats the query
    ///   over TCP.
    private func fail(
        _ text: String,
        isCrowded: Bool = false,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) {
        let hasFailed = if case .failed? = vendorResult { true } else { false }
        var failure = Resolution.failure(
            query,
            .noReachableAuthority,
            text,
            isUnanswered: hasFailed && limit == nil
        )
        if isOfClient || isRefresh || isCrowded { failure.lifetime = 0 }
        failure.isCrowded = isCrowded
        complete(ResolvedAnswer(failure, siblings: siblings))
    }

    private func complete(_ answer: ResolvedAnswer) {
        guard !isOver else { return }
        isOver = true
        // Frees the memory early: a vendor call in flight may retain this object for seconds.
        upstreamAnswer = nil
        resolution.end(pending, answer)
    }
}

extension VendorStage.Result {
    fileprivate var siblings: [(question: Question, resolution: Resolution)] {
        if case .empty(_, let siblings) = self { siblings } else { [] }
    }

    /// Combines two results without an answer; `empty` has precedence over `failed`.
    fileprivate func merged(with other: VendorStage.Result) -> VendorStage.Result {
        if case .failed = self { other } else { self }
    }
}
