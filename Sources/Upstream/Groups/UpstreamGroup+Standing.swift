// SPDX-License-Identifier: Apache-2.0
internal import Net

extension UpstreamGroup {
    /// State of a server of a group, and whether a query that arrives now would use the server.
    package struct Standing: Sendable {
        package let server: any Forwarding
        package let condition: ServerCondition

        package let isUsed: Bool

        /// Protected server that causes the exclusion of this unprotected server; nil for none.
        package let blocker: (name: String, isPaused: Bool)?
    }

    /// Servers in the order in which a query would use them now; excluded servers are last.
    package var standing: [Standing] {
        let roster = roster
        let servers = roster.servers
        let selection = standing(roster, health.clocks.now())
        let others = servers.indices.filter { !selection.order.contains($0) }
        return (selection.order + others).map { index in
            let blocker = selection.blocker.flatMap { blocker in
                index > blocker && !roster.isProtected(index) ? servers[blocker] : nil
            }
            return Standing(
                server: servers[index],
                condition: health.report(of: servers[index]).condition,
                isUsed: selection.order.contains(index),
                blocker: blocker.map { ($0.name, health.isPaused($0)) }
            )
        }
    }

    /// Paused upstream, and the reason why no upstream is in service.
    ///
    /// Nil if an upstream is in service, or if no upstream is paused.
    package var pauseOutage: (upstream: String, reason: String)? {
        let paused = members.map(\.name).filter(health.isPaused)
        guard let first = paused.first else { return nil }
        guard paused.count < members.count else { return (first, "all upstreams are paused") }
        let roster = roster
        let selection = standing(roster, health.clocks.now())
        guard selection.order.allSatisfy({ roster.pages[$0].health.isDown }) else { return nil }
        if let blocker = selection.blocker.map({ roster.servers[$0] }), health.isPaused(blocker),
            roster.servers.contains(where: { !$0.isProtected && !health.isPaused($0) })
        {
            let why = "plain upstreams do not replace the paused encrypted upstream \(blocker.name)"
            return (blocker.name, "no upstream is left, because \(why)")
        }
        let why = "\(first) is paused and no other upstream works"
        return (first, "no upstream is left, because \(why)")
    }
}
