// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
package import Net

/// Lets clients with equal questions wait for one answer.
///
/// Before it everything is done for one client, in the time that this one has; behind it everything
/// is done once for all who ask, in a time of its own, and to its end: a client that stops waiting
/// loses nothing for those after it.
///
/// Besides saving work it takes away what a forger multiplies by asking for the same name many times
/// over (RFC 5452 §5).
@ServiceLoop
package final class Merging {
    private let inquiry: Inquiry
    private let inFlight: InFlight<Query, Finding>

    private let books: Bookkeeping

    /// Queries answered by what another one's wait brought.
    package var merged: UInt64 { books.merged }

    /// The same by the origin of the answer, whose number `Origins` knows.
    package var mergedByOrigin: [UInt16: UInt64] { books.mergedByOrigin }

    /// Makes one whose clients wait for what `inquiry` finds out, and which counts in `books`.
    init(_ inquiry: Inquiry, books: Bookkeeping, clocks: Clocks) {
        self.inquiry = inquiry
        self.books = books
        inFlight = InFlight(
            clocks,
            work: ResolverLimits.inFlight,
            waiting: ResolverLimits.waiting
        )
    }

    /// Queries that were answered SERVFAIL because their places were needed for other queries.
    package var evicted: UInt64 { books.evicted }

    /// Since when this is being asked; nil if it is not.
    func began(_ query: Query) -> ContinuousClock.Instant? { inFlight.began(query) }

    /// Whether this is being asked.
    func isAsking(_ query: Query) -> Bool { began(query) != nil }

    /// Calls `tell` with the answer to `query`, once, if need be that there was none at `deadline`.
    ///
    /// - Parameter client: the client that asks; nil for the daemon itself.
    func ask(
        _ query: Query,
        _ match: RouteTable.Match?,
        for client: ClientNetwork?,
        now: ContinuousClock.Instant,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Inquiry.Tell
    ) {
        inFlight.join(query, for: client, now: now, until: deadline) { [self] outcome in
            switch outcome {
            case .late:
                tell(Finding(.late))
            case .evicted:
                books.evicted += 1
                tell(Finding(.evicted))
            case .refused:
                books.evicted += 1
                tell(Finding(.refused))
            case .value(var finding, let wasMerged):
                if wasMerged {
                    books.merged += 1
                    books.mergedByOrigin[finding.resolution.provenance.origin, default: 0] += 1
                    finding.resolution.provenance.wasMerged = true
                }
                tell(finding)
            }
        } _: { signal, end in
            inquiry.begin(
                query,
                match,
                deadline: now + ResolverLimits.work,
                cancellation: signal,
                end
            )
        }
    }
}

extension Resolution {
    /// What is said when a client's time is over before its answer came; not remembered.
    fileprivate static let late = Resolution(
        rcode: .servFail,
        explanation: Explanation(code: .noReachableAuthority, text: "no answer in time"),
        provenance: .local
    )
}
