// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limits the rate at which faulty connections are replaced.
///
/// The server itself can be the cause of the errors; then new connections do not help. The first
/// replacements follow quickly, because several hosts of a pool can be faulty.
struct ReplacementSpacing {
    private var next: Instant?
    private var spacing = Duration.zero

    /// True if no connection was checked since the latest replacement.
    var isUnchecked = false

    private static let first: Duration = .milliseconds(100)
    private static let afterPassedCheck: Duration = .milliseconds(500)

    /// Begins a replacement; if it is too early, returns the earliest time.
    mutating func begin(at now: Instant) -> Instant? {
        if let next, now < next { return next }
        spacing = min(max(spacing * 2, Self.first), UpstreamLimits.longestRest)
        (next, isUnchecked) = (now + spacing, true)
        return nil
    }

    /// Records that a connection has answered all queries of a check.
    mutating func passed() { spacing = min(spacing, Self.afterPassedCheck) }
}
