// SPDX-License-Identifier: Apache-2.0
package import Net

/// One stage of a query's way: answers, or asks the stage behind it.
///
/// The stages are put together in one place, `Resolver.init`; each knows only the next.
@ServiceLoop
package protocol Resolving: AnyObject {
    /// Answers `query`, if need be with SERVFAIL, at `deadline` at the latest.
    func resolve(_ query: Query, deadline: ContinuousClock.Instant) async -> Resolution
}
