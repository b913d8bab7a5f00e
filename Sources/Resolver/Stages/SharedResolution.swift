// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Resolves a query once for all waiting clients, and caches the result.
@ServiceLoop
final class SharedResolution {
    typealias Completion = @ServiceLoop (ResolvedAnswer) -> Void

    let cacheWriter: CacheWriter

    private let router: Router
    private let dns64: DNS64
    private let localAnswers: LocalAnswers
    private let addressOrdering: AddressOrdering?

    /// Connects routing, synthesis, caching and address ordering.
    ///
    /// - Parameter addressOrdering: nil if addresses keep the order in which they were received.
    init(
        _ router: Router,
        _ dns64: DNS64,
        _ localAnswers: LocalAnswers,
        _ cacheWriter: CacheWriter,
        _ addressOrdering: AddressOrdering?
    ) {
        self.router = router
        self.dns64 = dns64
        self.localAnswers = localAnswers
        self.cacheWriter = cacheWriter
        self.addressOrdering = addressOrdering
    }

    /// Records that `client` also waits for `query`, which is being resolved.
    func join(_ query: Query, _ match: RouteTable.Match?, of client: ClientNetwork) {
        router.join(query, match, of: client)
    }

    /// Resolves `query`, and calls `completion` exactly once by `deadline`, possibly before this returns.
    ///
    /// - Parameters:
    ///   - trace: records the steps; nil except for an operator's request.
    ///   - cancellation: ends the work early; a failure of cancelled work is not cached.
    func begin(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: Instant,
        trace: Trace? = nil,
        cancellation: CancellationSignal? = nil,
        _ completion: @escaping Completion
    ) {
        let before = cacheWriter.networksLeft
        dns64.ask(
            query,
            match,
            deadline: deadline,
            trace: trace,
            cancellation: cancellation,
            replace: { [self] in _ = kept($0, query, match, before, trace) }
        ) { [self] found in
            guard !(cancellation?.isCancelled ?? false) || !found.resolution.isFailure else {
                return completion(found)
            }
            completion(kept(found, query, match, before, trace))
        }
    }

    /// Caches an answer, and returns it as clients get it.
    private func kept(
        _ found: ResolvedAnswer,
        _ query: Query,
        _ match: RouteTable.Match?,
        _ networksLeftBefore: UInt64,
        _ trace: Trace?
    ) -> ResolvedAnswer {
        var finding = found
        localAnswers.guardCache(against: &finding, query)
        cacheWriter.keep(
            finding,
            query,
            match,
            networksLeftBefore: networksLeftBefore,
            trace: trace
        )
        addressOrdering?.order(&finding, query, match)
        return finding
    }
}
