// SPDX-License-Identifier: Apache-2.0
internal import Net

extension AttemptPlan {
    struct Candidate: Sendable, Hashable {
        /// Index in the group, in the order of the settings.
        var server: Int

        /// Number of the upstream, which all servers of the upstream share.
        var upstream = 0

        var role = ServerRole.ordinary

        /// True if answers cannot be forged in transit.
        var isProtected: Bool

        /// True if the server is down, so that an unprotected server may replace it.
        var isDown = false

        /// True if the server gets no query until a probe has authenticated the server.
        var isUntrusted = false

        var timeout: Duration

        /// Time before a hedged query is sent to the next server.
        var patience: Duration

        /// Minimum time before an unanswered query is repeated to this server; nil for never.
        var repeatsAfter: Duration?

        /// True if the server loses datagrams, so that it gets more attempts, the last over TCP.
        var isLossy = false

        var tries = 0
        var asked: Instant?

        /// Earliest time of the next attempt after SERVFAIL or REFUSED; nil for other servers.
        ///
        /// A server that replied with SERVFAIL or REFUSED is queried again only after all other
        /// servers.
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
