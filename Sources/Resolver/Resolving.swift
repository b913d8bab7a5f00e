// SPDX-License-Identifier: Apache-2.0
package import Net

/// One stage of a query's way: answers, or asks the stage behind it.
///
/// The stages are put together in one place, `Resolver.init`; each knows only the next.
@ServiceLoop
package protocol Resolving: AnyObject {
    /// Answers `query`, if need be with SERVFAIL, at `deadline` at the latest.
    ///
    /// - Parameter match: the route of the query's name, looked up once for all stages; nil if no
    ///   route claims it.
    func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding
}
