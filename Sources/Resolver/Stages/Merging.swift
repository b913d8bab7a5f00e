// SPDX-License-Identifier: Apache-2.0
internal import Net

/// The stage that lets clients with equal questions wait for one answer.
///
/// Besides saving work it takes away what a forger multiplies by asking for the same name many times
/// over (RFC 5452 §5).
package final class Merging: Resolving {
    private let next: any Resolving
    private let inFlight = InFlight<Query, Finding>()

    /// Queries answered by what another one's wait brought.
    package private(set) var merged: UInt64 = 0

    /// The same by the origin of the answer, whose number `Origins` knows.
    package private(set) var mergedByOrigin: [UInt16: UInt64] = [:]

    /// Puts this stage before `next`.
    package init(next: any Resolving) {
        self.next = next
    }

    package func resolve(
        _ query: Query,
        _ match: RouteTable.Match?,
        deadline: ContinuousClock.Instant
    ) async -> Finding {
        let next = next
        var (finding, wasMerged) = await inFlight.value(for: query) {
            await next.resolve(query, match, deadline: deadline)
        }
        if wasMerged {
            merged += 1
            mergedByOrigin[finding.resolution.provenance.origin, default: 0] += 1
            finding.resolution.provenance.wasMerged = true
        }
        return finding
    }
}
