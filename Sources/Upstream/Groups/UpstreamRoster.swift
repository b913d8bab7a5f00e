// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Servers of all members of a group, in the order of ``UpstreamGroup``, with their health.
@ServiceLoop
final class UpstreamRoster {
    let servers: [any Forwarding]
    let roles: [ServerRole]
    let pages: [HealthTable.Page]

    /// For each server, the index of the first server of its upstream.
    let upstreams: [Int]

    private let hasOwn: Bool

    let version: Int

    init(_ members: [any Forwarding], _ health: HealthTable, version: Int) {
        let learned = members.compactMap { $0 as? LearnedUpstream }.flatMap(\.roles)
        let own = members.filter { !($0 is LearnedUpstream) }.flatMap(\.servers)
        servers =
            own.filter(\.isProtected) + own.filter { !$0.isProtected } + learned.map(\.server)
        roles = own.map { _ in .ordinary } + learned.map(\.role)
        hasOwn = !own.isEmpty
        pages = servers.map(health.page)
        let names = servers.map(\.name)
        upstreams = names.map { names.firstIndex(of: $0) ?? 0 }
        self.version = version
    }

    /// True if unprotected servers of the group may replace the server only when it is down.
    ///
    /// Without a configured server, the encrypted servers of the network also count as protected.
    func isProtected(_ index: Int) -> Bool {
        servers[index].isProtected || !hasOwn && servers[index].isEncrypted
    }

    var hasProtectedServer: Bool {
        servers.indices.contains { isProtected($0) && !pages[$0].health.isDown }
    }
}

/// Role of a server in a group; the roles `first` and `spare` are for a split-tunnel VPN.
enum ServerRole: Sendable, Hashable {
    case ordinary

    /// Server of a ``LearnedUpstream`` that has no spare servers.
    case learned

    /// Server of the VPN, which is queried before the spare servers.
    case first

    /// Server of another network, queried after all servers of the VPN have returned an error.
    case spare
}

extension LearnedUpstream {
    fileprivate var roles: [(server: any Forwarding, role: ServerRole)] {
        guard spareCount > 0 else { return servers.map { ($0, .learned) } }
        let main = servers.count - spareCount
        return servers.enumerated().map { ($1, $0 < main ? .first : .spare) }
    }
}
