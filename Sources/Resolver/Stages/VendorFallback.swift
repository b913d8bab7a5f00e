// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import HTTPDNS
internal import Net

/// One query to the vendors of a route, with the upstreams as fallback.
///
/// The upstreams are queried once at most: when the vendors have failed or have no address, or as
/// an early fallback after `Route.Options.fallbackAfter` without a reply.  An early answer is used
/// at once, with a short TTL.  The vendors' answer then only replaces it in the cache.
///
/// There is no early fallback for a name with a cache entry, fresh or stale: a refresh must not
/// replace a vendor's answer by one of an upstream.
@ServiceLoop
final class VendorFallback {
    /// Parts of the resolver, and the query.
    struct Context {
        let policy: TTLPolicy
        let vendors: VendorStage
        let denials: DenialFilter
        let query: Query
        let match: RouteTable.Match
        let trace: Trace?

        /// Queries the upstreams; nil if the route has none.
        let askUpstreams: ((@escaping UpstreamStage.Completion) -> Void)?
    }

    private let context: Context

    /// Called once.
    private var completion: SharedResolution.Completion?

    /// Called with the vendors' answer if it arrives after the early one.
    private let replace: SharedResolution.Completion

    private var vendorResult: VendorStage.Result?
    private var upstreamAnswer: Resolution?
    private var hasAskedUpstreams = false
    private var timer: (any Cancellable)?

    init(
        _ context: Context,
        replace: @escaping SharedResolution.Completion,
        _ completion: @escaping SharedResolution.Completion
    ) {
        self.context = context
        self.replace = replace
        self.completion = completion
    }

    /// Queries the vendors.
    func begin(deadline: Instant, cancellation: CancellationSignal?) {
        let (match, clocks) = (context.match, context.denials.clocks)
        let start = clocks.now()
        context.vendors.ask(
            context.query,
            match,
            deadline: deadline,
            trace: context.trace,
            cancellation: cancellation
        ) { [self] in vendorsFinished($0) }
        guard vendorResult == nil, context.askUpstreams != nil,
            let delay = match.route.options.fallbackAfter
        else { return }
        timer = clocks.timer(start + delay) { [self] in askEarly() }
    }

    private func askEarly() {
        timer = nil
        let entry = context.denials.cache.lastResort(
            for: context.query.question,
            variant: context.query.variant,
            now: context.denials.clocks.now()
        )
        guard vendorResult == nil, entry == nil else { return }
        context.trace?.note("no vendor has answered yet: querying upstreams")
        askUpstreams()
    }

    private func askUpstreams() {
        guard !hasAskedUpstreams else { return }
        hasAskedUpstreams = true
        context.askUpstreams? { [self] answer in
            upstreamAnswer = answer
            if vendorResult != nil { return combine() }
            guard !answer.isFailure else { return }
            var early = filtered(answer, isVendorEmpty: false, hasVendorFailed: true)
            early.shorten(to: ResolverLimits.earlyLifetime, context.query.question)
            early.provenance.fallback = .early
            complete(ResolvedAnswer(early))
        }
    }

    private func vendorsFinished(_ result: VendorStage.Result) {
        vendorResult = result
        timer?.cancel()
        timer = nil
        guard completion != nil else {
            if case .answered(let answer) = result { replace(answer) }
            return
        }
        switch result {
        case .answered(let answer): complete(answer)
        case .empty, .failed: finishWithoutVendor(result)
        }
    }

    /// Completes the query, or queries the upstreams, after the vendors had no answer.
    private func finishWithoutVendor(_ result: VendorStage.Result) {
        guard context.match.route.fallsBack else {
            guard case .empty(let provenance, let siblings) = result else {
                return fail("no vendor answered")
            }
            let nothing = Resolution.noData(
                context.query.question,
                zone: context.match.domain,
                seconds: context.policy.negative.lowerBound,
                provenance: provenance
            )
            return complete(ResolvedAnswer(nothing, siblings: siblings))
        }
        guard context.askUpstreams != nil else {
            guard case .empty(_, let siblings) = result else {
                return fail("no vendor answered, and no upstream is configured for this name")
            }
            let text = "no vendor has an address, and no upstream is configured for this name"
            return fail(text, siblings: siblings)
        }
        let reason = if case .empty = result { "has an address" } else { "answered" }
        context.trace?.note("no vendor \(reason): querying upstreams")
        if upstreamAnswer != nil { combine() } else { askUpstreams() }
    }

    /// Completes the query with the upstreams' answer, after the vendors had none.
    private func combine() {
        guard completion != nil, let answer = upstreamAnswer, let result = vendorResult else {
            return
        }
        switch result {
        case .answered: break
        case .empty(let provenance, let siblings):
            var resolution = filtered(answer, isVendorEmpty: true, siblings: siblings)
            context.vendors.note(&resolution, after: provenance)
            resolution.provenance.fallback = .empty
            complete(ResolvedAnswer(resolution, siblings: siblings))
        case .failed(let limit):
            var resolution = filtered(answer, isVendorEmpty: false, hasVendorFailed: true)
            resolution.provenance.fallback = .failed
            if let limit {
                resolution.shorten(to: ResolverLimits.earlyLifetime, context.query.question)
                // Other clients can still call the vendor.
                if limit == .ofClient { resolution.lifetime = 0 }
            }
            complete(ResolvedAnswer(resolution))
        }
    }

    private func filtered(
        _ answer: Resolution,
        isVendorEmpty: Bool,
        hasVendorFailed: Bool = false,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) -> Resolution {
        context.denials.filtered(
            answer,
            context.query,
            context.match,
            isVendorEmpty: isVendorEmpty,
            hasVendorFailed: hasVendorFailed,
            siblings: siblings
        )
    }

    private func fail(
        _ text: String,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) {
        let isUnanswered = if case .failed(.none)? = vendorResult { true } else { false }
        let failure = Resolution.failure(
            context.query,
            .noReachableAuthority,
            text,
            isUnanswered: isUnanswered
        )
        complete(ResolvedAnswer(failure, siblings: siblings))
    }

    private func complete(_ answer: ResolvedAnswer) {
        let completion = completion
        self.completion = nil
        completion?(answer)
    }
}
