// SPDX-License-Identifier: Apache-2.0
internal import Net

/// All servers of the members of a group in their order, and their health entries.
///
/// Encrypted servers come first, then plain ones, then those that the network or a file names.
@ServiceLoop
final class UpstreamRoster {
    let servers: [any Forwarding]
    let pages: [HealthTable.Page]

    /// Versions of the learned members.
    let version: Int

    init(_ members: [any Forwarding], _ health: HealthTable, version: Int) {
        let learned = members.filter { $0 is LearnedUpstream }.flatMap(\.servers)
        let own = members.filter { !($0 is LearnedUpstream) }.flatMap(\.servers)
        servers = own.filter(\.isProtected) + own.filter { !$0.isProtected } + learned
        pages = servers.map(health.page)
        self.version = version
    }
}
