// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Servers that the calls of a client use last, because other servers answered its names first.
///
/// A server can answer health probes, but not the names of a client, for example because it stops
/// replying on used connections. Probes then do not replace the server, and after the client has
/// used up its hedged requests (``HedgeBudget``), its names would wait for this server. Each client
/// has its own list, because a client can choose names that only one of the servers answers. All
/// clients that are not proven have one common list.
///
/// Each call that another server answers first adds ``HedgeBudget/callsPerHedge`` to the score of
/// the server, and each call that the server answers subtracts 1. A server with a score of more
/// than `limit` - 1 such calls is avoided for the time `duration`.
struct AvoidedServers: Sendable {
    static let serversPerClient = 16

    private struct Entry {
        let server: SocketAddress

        var score: Int

        /// Time until which the server is avoided; nil while the score is too low.
        var end: Instant?
    }

    private let limit: Int

    private let duration: Duration

    private var entries: [ClientNetwork?: [Entry]] = [:]

    /// - Parameter limit: number of calls, at least 1.
    init(limit: Int, duration: Duration) {
        (self.limit, self.duration) = (limit, duration)
    }

    /// Moves the healthy servers that are not avoided to the start of `order`.
    ///
    /// An avoided server stays before servers that do not work.
    @inline(__always)
    func apply(
        to order: inout [SocketAddress],
        of client: ClientNetwork?,
        now: Instant,
        isHealthy: (SocketAddress) -> Bool
    ) {
        if !entries.isEmpty { sort(&order, of: client, now, isHealthy) }
    }

    private func sort(
        _ order: inout [SocketAddress],
        of client: ClientNetwork?,
        _ now: Instant,
        _ isHealthy: (SocketAddress) -> Bool
    ) {
        let avoided = (entries[HedgeBudget.key(client)] ?? []).filter { entry in
            entry.end.map { now < $0 } ?? false
        }
        guard !avoided.isEmpty else { return }
        let first = order.filter { server in
            isHealthy(server) && !avoided.contains { $0.server == server }
        }
        order = first + order.filter { !first.contains($0) }
    }

    /// Records that another server answered a call first.
    mutating func wasOvertaken(
        _ server: SocketAddress,
        of client: ClientNetwork?,
        now: Instant
    ) {
        let key = HedgeBudget.key(client)
        if entries.count >= ClientLimits.countedClients, entries[key] == nil { entries = [:] }
        var list = entries[key] ?? []
        list.removeAll { $0.end.map { $0 <= now } ?? false }
        if list.count >= Self.serversPerClient { list = [] }
        let index = list.firstIndex { $0.server == server } ?? list.endIndex
        if index == list.endIndex { list.append(Entry(server: server, score: 0)) }
        list[index].score += HedgeBudget.callsPerHedge
        if list[index].end == nil, list[index].score > (limit - 1) * HedgeBudget.callsPerHedge {
            list[index].end = now + duration
        }
        entries[key] = list
    }

    /// Records that the server answered a call before all other servers.
    @inline(__always)
    mutating func answered(_ server: SocketAddress, of client: ClientNetwork?) {
        if !entries.isEmpty { reduceScore(of: server, for: HedgeBudget.key(client)) }
    }

    private mutating func reduceScore(of server: SocketAddress, for key: ClientNetwork?) {
        guard let index = entries[key]?.firstIndex(where: { $0.server == server && $0.end == nil })
        else { return }
        entries[key]?[index].score -= 1
        if entries[key]?[index].score == 0 { entries[key]?.remove(at: index) }
        if entries[key]?.isEmpty ?? true { entries[key] = nil }
    }

    mutating func reset() { entries = [:] }

    mutating func takeOver(from old: AvoidedServers) { entries = old.entries }
}
