// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Finds an answer out, once for all who wait for it, and keeps it for those who come after them.
@ServiceLoop
final class Inquiry {
    /// Told what was found out.
    typealias Tell = @ServiceLoop (Finding) -> Void

    /// Keeps answers.
    let storing: Storing

    private let router: Router
    private let overrides: Overrides
    private let ordering: Ordering?

    /// Puts together who is asked and what is done with what they say.
    ///
    /// - Parameter ordering: nil if addresses stay in the order in which they come.
    init(_ router: Router, _ overrides: Overrides, _ storing: Storing, _ ordering: Ordering?) {
        self.router = router
        self.overrides = overrides
        self.storing = storing
        self.ordering = ordering
    }

    /// Tells what was found out, once, at `deadline` at the latest and perhaps before this returns.
    ///
    /// - Parameters:
    ///   - trace: told how; nil nearly always.
    ///   - cancellation: ends the work early; its result is then neither cached nor true.
    func begin(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant,
        trace: Trace? = nil,
        cancellation: CancellationSignal? = nil,
        _ tell: @escaping Tell
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
                return tell(found)
            }
            var finding = found
            overrides.guardCache(against: &finding, query)
            storing.keep(finding, query, match, networksLeftBefore: before, trace: trace)
            ordering?.order(&finding, query, match)
            tell(finding)
        }
    }
}
