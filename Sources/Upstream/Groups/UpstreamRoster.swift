// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Servers of all members of a group, in the order of ``UpstreamGroup``, with their health.
@ServiceLoop
final class UpstreamRoster {
    let servers: [any Forwarding]
    let pages: [HealthTable.Page]

    /// Sum of the versions of each ``LearnedUpstream`` in the group.
    let version: Int

    init(_ members: [any Forwarding], _ health: HealthTable, version: Int) {
        let learned = members.filter { $0 is LearnedUpstream }.flatMap(\.servers)
        let own = members.filter { !($0 is LearnedUpstream) }.flatMap(\.servers)
        servers = own.filter(\.isProtected) + own.filter { !$0.isProtected } + learned
        pages = servers.map(health.page)
        self.version = version
    }
}
