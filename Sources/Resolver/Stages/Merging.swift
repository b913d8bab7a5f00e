// SPDX-License-Identifier: Apache-2.0
internal import Net

/// The stage that lets clients with equal questions wait for one answer.
///
/// Besides saving work it takes away what a forger multiplies by asking for the same name many times
/// over (RFC 5452 §5).
package final class Merging: Resolving {
    private let next: any Resolving
    private let inFlight = InFlight<Query, Resolution>()

    /// Queries answered by what another one's wait brought.
    package private(set) var merged: UInt64 = 0

    /// The same by the origin of the answer, whose number `Origins` knows.
    package private(set) var mergedByOrigin: [UInt16: UInt64] = [:]

    /// Puts this stage before `next`.
    package init(next: any Resolving) {
        self.next = next
    }

    package func resolve(_ query: Query, deadline: ContinuousClock.Instant) async -> Resolution {
        let next = next
        var (resolution, wasMerged) = await inFlight.value(for: query) {
            await next.resolve(query, deadline: deadline)
        }
        if wasMerged {
            merged += 1
            mergedByOrigin[resolution.provenance.origin, default: 0] += 1
            resolution.provenance.wasMerged = true
        }
        return resolution
    }
}
