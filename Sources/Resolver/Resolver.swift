// SPDX-License-Identifier: Apache-2.0
package import DNSCache
internal import DNSWire
package import Net
package import Upstream

/// The whole way of a query that the cache has no answer for.
///
///     special names -> merge in-flight -> keep in the cache -> route -> vendors -> upstreams
///
/// Each stage takes a query and returns a resolution; this is the one place that puts them together.
@ServiceLoop
package final class Resolver {
    /// The names behind the numbers in cache entries.
    package let origins = Origins()

    /// The vendor stage, for its numbers.
    package let vendors: VendorStage

    /// The upstream stage, for its numbers.
    package let upstreams: UpstreamStage

    /// The merging stage, for its numbers.
    package let merging: Merging

    private let routes: RouteTable
    private let first: any Resolving

    /// Puts the stages together.
    ///
    /// - Parameters:
    ///   - standard: the upstreams asked for all that no route sends elsewhere.
    ///   - clocks: the kind of time in which deadlines are given and answers grow old.
    package init(
        routes: RouteTable,
        standard: UpstreamGroup?,
        policy: TTLPolicy,
        cache: AnswerCache,
        clocks: Clocks = .system
    ) {
        let store = AnswerStore(cache, clocks)
        vendors = VendorStage(policy: policy, origins: origins, clocks: clocks)
        upstreams = UpstreamStage(policy: policy, origins: origins, clocks: clocks)
        let router = Router(
            policy: policy,
            vendors: vendors,
            upstreams: upstreams,
            standard: standard
        )
        merging = Merging(next: Storing(store: store, next: router))
        first = SpecialNames(next: merging)
        self.routes = routes
    }

    /// Answers `query`, with SERVFAIL if need be, at `deadline` at the latest.
    package func resolve(_ query: Query, deadline: ContinuousClock.Instant) async -> Resolution {
        await first.resolve(query, routes.route(for: query.question.name), deadline: deadline)
            .resolution
    }
}
