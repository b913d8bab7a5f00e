// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limits the rate at which faulty connections are replaced.
///
/// The server itself can be the cause of the errors; then new connections do not help. The first
/// replacements follow quickly, because several hosts of a pool can be faulty.
struct ReplacementSpacing {
    private var latest: Instant?
    private var spacing = Duration.zero

    private static let first = UpstreamLimits.firstRest / 4

    /// Returns false if it is too early for another replacement.
    mutating func begin(at now: Instant) -> Bool {
        if let latest, now - latest < spacing { return false }
        latest = now
        spacing = min(max(spacing * 2, Self.first), UpstreamLimits.longestRest)
        return true
    }

    /// Records an answer, which shows that another connection has helped.
    mutating func answered() { spacing = min(spacing, UpstreamLimits.firstRest) }
}
