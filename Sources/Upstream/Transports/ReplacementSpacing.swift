// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Limits the rate at which connections with error replies are replaced.
///
/// The server itself can be the cause of the errors; then new connections do not help.
struct ReplacementSpacing {
    private var latest: Instant?
    private var spacing = Duration.zero

    /// Returns false if it is too early for another replacement.
    mutating func begin(at now: Instant) -> Bool {
        if let latest, now - latest < spacing { return false }
        latest = now
        spacing = min(max(spacing * 2, UpstreamLimits.firstRest), UpstreamLimits.longestRest)
        return true
    }

    /// Records an answer, which shows that another connection has helped.
    mutating func answered() { spacing = min(spacing, UpstreamLimits.firstRest) }
}
