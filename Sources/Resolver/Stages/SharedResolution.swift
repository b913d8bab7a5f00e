// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Resolves a query once for all waiting clients, and caches the result.
@ServiceLoop
final class SharedResolution {
    typealias Completion = @ServiceLoop (ResolvedAnswer) -> Void

    let storing: CacheWriter

    private let router: Router
    private let overrides: LocalAnswers
    private let ordering: Ordering?

    /// Connects routing, caching and ordering.
    ///
    /// - Parameter ordering: nil if addresses keep the order in which they were received.
    init(_ router: Router, _ overrides: LocalAnswers, _ storing: CacheWriter, _ ordering: Ordering?)
    {
        self.router = router
        self.overrides = overrides
        self.storing = storing
        self.ordering = ordering
    }

    /// Resolves `query`, and calls `completion` exactly once by `deadline`, possibly before this returns.
    ///
    /// - Parameters:
    ///   - trace: records the steps; nil except for an operator's request.
    ///   - cancellation: ends the work early; a failure of cancelled work is not cached.
    func begin(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant,
        trace: Trace? = nil,
        cancellation: CancellationSignal? = nil,
        _ completion: @escaping Completion
    ) {
        let before = storing.networksLeft
        router.ask(
            query,
            match,
            deadline: deadline,
            trace: trace,
            cancellation: cancellation
        ) { [self] found in
            guard !(cancellation?.isCancelled ?? false) || !found.resolution.isFailure else {
                return completion(found)
            }
            var finding = found
            overrides.guardCache(against: &finding, query)
            storing.keep(finding, query, match, networksLeftBefore: before, trace: trace)
            ordering?.order(&finding, query, match)
            completion(finding)
        }
    }
}
