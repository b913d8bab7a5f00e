// SPDX-License-Identifier: Apache-2.0
internal import Net

extension AttemptPlan {
    struct Candidate: Sendable, Hashable {
        /// Index in the group.
        var server: Int

        /// Equal for all servers of one upstream.
        var upstream = 0

        var role = ServerRole.ordinary

        var isProtected: Bool

        var isDown = false

        /// True if the server gets no query until a probe has authenticated the server.
        var isUntrusted = false

        var timeout: Duration

        /// Time to wait for a reply before a hedged query.
        var patience: Duration

        /// Minimum time before an unanswered query is sent again; nil for never.
        var repeatsAfter: Duration?

        /// True if datagrams to or from the server get lost.
        var isLossy = false

        var tries = 0
        var asked: Instant?

        /// Earliest time of the next attempt after SERVFAIL or REFUSED; otherwise nil.
        ///
        /// Such a server is queried only after all other servers.
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
