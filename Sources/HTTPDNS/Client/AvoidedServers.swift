// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Servers that a client avoids, because they did not answer the client's calls in time.
///
/// Each client has its own list. Otherwise, a client could query names that only one of the servers
/// answers, and all clients would avoid the other servers. All clients that are not proven have one
/// common list.
///
/// A server misses a call if the server fails, or if another server answers and this server has not
/// answered within `hedge-after`. After `limit` missed calls, the client avoids the server for the
/// time `duration`. ``HedgeBudget/callsPerHedge`` answered calls cancel one missed call. If a call
/// was sent to all servers, and none answered, the list of the client is cleared.
struct AvoidedServers: Sendable {
    static let serversPerClient = 16

    private struct Entry {
        let server: SocketAddress

        var score: Int

        var end: Instant?
    }

    private let limit: Int

    private let duration: Duration

    private var entries: [ClientNetwork?: [Entry]] = [:]

    init(limit: Int, duration: Duration) {
        (self.limit, self.duration) = (limit, duration)
    }

    @inline(__always)
    func apply(
        to order: inout [SocketAddress],
        of client: ClientNetwork?,
        now: Instant,
        isHealthy: (SocketAddress) -> Bool
    ) {
        if !entries.isEmpty { replaceFirst(of: &order, client, now, isHealthy) }
    }

    private func replaceFirst(
        of order: inout [SocketAddress],
        _ client: ClientNetwork?,
        _ now: Instant,
        _ isHealthy: (SocketAddress) -> Bool
    ) {
        let list = entries[HedgeBudget.key(client)] ?? []
        func score(_ server: SocketAddress) -> Int {
            let entry = list.first { $0.server == server }
            return entry.flatMap { entry in
                entry.end.map { now < $0 ? entry.score : 0 }
            } ?? 0
        }
        guard let first = order.first else { return }
        var (best, lowest) = (0, score(first))
        guard lowest > 0 else { return }
        for (index, server) in order.enumerated() where score(server) < lowest {
            if isHealthy(server) { (best, lowest) = (index, score(server)) }
        }
        order.insert(order.remove(at: best), at: 0)
    }

    mutating func missed(
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

    @inline(__always)
    mutating func answered(_ server: SocketAddress, of client: ClientNetwork?) {
        if !entries.isEmpty { reduceScore(of: server, for: HedgeBudget.key(client)) }
    }

    private mutating func reduceScore(of server: SocketAddress, for key: ClientNetwork?) {
        guard let index = entries[key]?.firstIndex(where: { $0.server == server }) else { return }
        entries[key]?[index].score -= 1
        if entries[key]?[index].score == 0 { entries[key]?.remove(at: index) }
        if entries[key]?.isEmpty ?? true { entries[key] = nil }
    }

    @inline(__always)
    mutating func forget(_ client: ClientNetwork?) {
        if !entries.isEmpty { entries[HedgeBudget.key(client)] = nil }
    }

    mutating func reset() { entries = [:] }

    mutating func takeOver(from old: AvoidedServers) { entries = old.entries }
}
