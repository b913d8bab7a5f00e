// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limits the rate at which faulty connections are replaced.
///
/// The server itself can be the cause of the errors; then new connections do not help. The first
/// replacements follow quickly, because several hosts of a pool can be faulty.
struct ReplacementSpacing {
    private var next: Instant?
    private var spacing = Duration.zero

    private static let first: Duration = .milliseconds(100)

    /// Permits a replacement; returns the earliest time if it is too early for another one.
    mutating func refusal(at now: Instant) -> Instant? {
        if let next, now < next { return next }
        spacing = min(max(spacing * 2, Self.first), UpstreamLimits.longestRest)
        next = now + spacing
        return nil
    }

    /// Records an answer, which shows that another connection has helped.
    mutating func answered() { spacing = min(spacing, UpstreamLimits.firstRest / 2) }
}
