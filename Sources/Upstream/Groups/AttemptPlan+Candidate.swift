// SPDX-License-Identifier: Apache-2.0
internal import Net

extension AttemptPlan {
    struct Candidate: Sendable, Hashable {
        var server: Int

        /// Identifier of the upstream; equal for all servers of one upstream.
        var upstream = 0

        var role = ServerRole.ordinary

        var isProtected: Bool

        var isDown = false

        var isUntrusted = false

        var timeout: Duration

        var patience: Duration

        var repeatsAfter: Duration?

        var isLossy = false

        var tries = 0
        var asked: Instant?

        /// Earliest time to repeat the query after SERVFAIL or REFUSED; nil for no such repetition.
        var repeatableAt: Instant?
    }

    /// Permission to send a query again to a server at which an attempt failed.
    enum Repetition: Sendable, Hashable {
        case never

        /// Permitted after ``UpstreamLimits/declinePause``, if no other server is left.
        case afterPause

        case allowed
    }
}
