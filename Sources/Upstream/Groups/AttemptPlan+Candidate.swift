// SPDX-License-Identifier: Apache-2.0
internal import Net

extension AttemptPlan {
    struct Candidate: Sendable, Hashable {
        /// Index in the group, in the order of the settings.
        var server: Int

        /// Identifier of the server's upstream; equal for all servers of the upstream.
        var upstream = 0

        var role = ServerRole.ordinary

        /// True if answers cannot be forged in transit.
        var isProtected: Bool

        /// True if the server is down, so that an unprotected server may replace it.
        var isDown = false

        /// True if the server gets no query until a probe has authenticated the server.
        var isUntrusted = false

        var timeout: Duration

        /// Time to wait for a reply before a hedged query is sent to the next server.
        var patience: Duration

        /// Minimum time before an unanswered query is sent to this server again; nil: never.
        var repeatsAfter: Duration?

        /// True if datagrams to or from the server get lost.
        ///
        /// The server then gets more attempts, and the last attempt uses TCP.
        var isLossy = false

        var tries = 0
        var asked: Instant?

        /// Earliest time of the next attempt after the server returned SERVFAIL or REFUSED.
        ///
        /// Nil if the server has returned neither of them. After SERVFAIL or REFUSED, the server is
        /// queried again only after all other servers.
        var repeatableAt: Instant?
    }

    /// Permission to send a query again to a server at which an attempt failed.
    enum Repetition: Sendable, Hashable {
        case never

        /// Permitted after the pause ``UpstreamLimits/declinePause``, if no other server is left.
        case afterPause

        case allowed
    }
}
