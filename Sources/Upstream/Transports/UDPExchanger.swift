// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// UDP exchanges with one server over a few shared sockets.
///
/// The kernel chooses a random port for each socket and drops messages from other addresses
/// (RFC 5452 §9.2).
@ServiceLoop
final class UDPExchanger {
    fileprivate(set) var foreignReplies: UInt64 = 0

    /// Sockets closed because of forged messages.
    fileprivate(set) var forgeries: UInt64 = 0

    private let server: SocketAddress
    private let validates: Bool
    private let clocks: Clocks
    private var random = RandomPool()

    private var slots = [UDPSocketSlot?](repeating: nil, count: UpstreamLimits.slots)

    /// All sockets, including sockets that only wait for replies.
    private var open: [ObjectIdentifier: UDPSocketSlot] = [:]

    fileprivate lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    nonisolated init(_ server: SocketAddress, validates: Bool, clocks: Clocks) {
        self.server = server
        self.validates = validates
        self.clocks = clocks
    }

    /// Sends a query; ends the attempt, or lets `transport` repeat the query over TCP.
    func ask(_ attempt: Attempt, of transport: PlainTransport) {
        do throws(SocketError) {
            let slot = try openSlot()
            var exchange: UpstreamExchange
            repeat {
                exchange = UpstreamExchange(
                    attempt.query,
                    usesEDNS: attempt.usesEDNS,
                    validates: validates,
                    random: &random
                )
            } while slot.hasUsed(exchange.id)
            try slot.send(exchange, for: attempt, of: transport)
            alarm.bring(forward: attempt.deadline)
        } catch {
            attempt.end(.failure(UpstreamError(error)))
        }
    }

    func renew() {
        for index in slots.indices { slots[index] = nil }
    }

    private func openSlot() throws(SocketError) -> UDPSocketSlot {
        let index = Int.random(in: slots.indices, using: &random)
        let now = clocks.now()
        if let slot = slots[index], slot.takesQueries(at: now) { return slot }
        let slot = try UDPSocketSlot(to: server, of: self, now: now)
        slots[index] = slot
        open[ObjectIdentifier(slot)] = slot
        return slot
    }

    fileprivate func closed(_ slot: UDPSocketSlot) { open[ObjectIdentifier(slot)] = nil }

    private func expire() {
        let now = clocks.now()
        for slot in open.values { slot.expire(now) }
        // The time is rounded up, so that queries share timers.
        let next = open.values.lazy.map(\.deadline).min()
        alarm.set(next.map { max($0, now + UpstreamLimits.grain) })
    }
}

@ServiceLoop
private final class UDPSocketSlot: DatagramReceiving, AttemptCarrier {
    private struct Waiting {
        let exchange: UpstreamExchange
        let attempt: Attempt
        let transport: PlainTransport
    }

    /// The outstanding queries, at most ``UpstreamLimits/queriesPerSlot``, and their IDs.
    private struct Outstanding {
        private(set) var queries: [Waiting] = []
        private(set) var ids: [UInt16] = []

        mutating func append(_ query: Waiting) {
            queries.append(query)
            ids.append(query.exchange.id)
        }

        mutating func remove(_ place: Int) -> Waiting {
            queries.swapAt(place, queries.count - 1)
            ids.swapAt(place, ids.count - 1)
            ids.removeLast()
            return queries.removeLast()
        }

        mutating func removeAll() -> [Waiting] {
            defer { self = Outstanding() }
            return queries
        }
    }

    private let opened: Instant
    private var socket: DatagramSocket?
    private weak var exchanger: UDPExchanger?

    private var waiting = Outstanding()

    /// IDs of ended queries: a late or duplicated reply does not count as forged.
    private var ended: [UInt16] = []

    private var foreignReplies = 0

    /// Number of queries that the socket may still send.
    private var left = UpstreamLimits.queriesPerSlot

    init(
        to server: SocketAddress,
        of exchanger: UDPExchanger,
        now: Instant
    ) throws(SocketError) {
        opened = now
        self.exchanger = exchanger
        socket = nil
        socket = try DatagramSocket(connectedTo: server, receiver: self)
    }

    func takesQueries(at now: Instant) -> Bool {
        socket != nil && left > 0 && now - opened < UpstreamLimits.socketLifetime
    }

    func hasUsed(_ id: UInt16) -> Bool { waiting.ids.contains(id) || ended.contains(id) }

    /// Earliest deadline of the outstanding queries; without queries, the end of the period in
    /// which the socket accepts queries.
    var deadline: Instant {
        waiting.queries.lazy.map(\.attempt.deadline).min() ?? opened + UpstreamLimits.socketLifetime
    }

    /// Sends a query.
    ///
    /// - Throws: the kernel's error, which may concern an earlier query. All outstanding queries
    ///   then fail.
    func send(
        _ exchange: UpstreamExchange,
        for attempt: Attempt,
        of transport: PlainTransport
    ) throws(SocketError) {
        do throws(SocketError) {
            guard let socket else { throw .closed }
            try socket.send(exchange.message)
        } catch {
            failed(error)
            throw error
        }
        left -= 1
        waiting.append(Waiting(exchange: exchange, attempt: attempt, transport: transport))
        attempt.wasSent(by: self)
    }

    func cancel(_ attempt: Attempt) {
        guard let query = waiting.queries.first(where: { $0.attempt === attempt }) else { return }
        end([query], with: .timedOut)
    }

    func received(_ octets: Span<UInt8>) {
        let id = octets.count >= 2 ? UInt16(octets[0]) << 8 | UInt16(octets[1]) : nil
        guard let id, let place = waiting.ids.firstIndex(of: id) else {
            if !(id.map(ended.contains) ?? false) { noteForeign() }
            return
        }
        let validation = waiting.queries[place].exchange.validate(octets)
        if case .foreign = validation { return noteForeign() }
        let query = waiting.remove(place)
        ended.append(id)
        closeIfIdle()
        if case .reply(let reply) = validation {
            query.attempt.end(.success(reply))
        } else {
            query.transport.repeatOverStream(query.attempt)
        }
    }

    /// Counts an unmatched message; several close the socket, because a forger may know its port.
    private func noteForeign() {
        exchanger?.foreignReplies += 1
        foreignReplies += 1
        guard foreignReplies >= UpstreamLimits.foreignReplies else { return }
        exchanger?.forgeries += 1
        let queries = waiting.removeAll()
        close()
        for query in queries { query.transport.repeatOverStream(query.attempt) }
    }

    func failed(_ error: SocketError) {
        // The socket is closed first, because a completion may send a query, which needs another
        // socket.
        let queries = waiting.removeAll()
        close()
        for query in queries { query.attempt.end(.failure(UpstreamError(error))) }
    }

    func expire(_ now: Instant) {
        end(waiting.queries.filter { $0.attempt.deadline <= now }, with: .timedOut)
        if waiting.ids.isEmpty, !takesQueries(at: now) { close() }
    }

    private func end(_ queries: [Waiting], with error: UpstreamError) {
        for query in queries {
            let place = waiting.ids.firstIndex(of: query.exchange.id)
            if let place { _ = waiting.remove(place) }
            ended.append(query.exchange.id)
        }
        closeIfIdle()
        for query in queries { query.attempt.end(.failure(error)) }
    }

    /// Closes the socket if no query is outstanding and no further query is expected.
    ///
    /// After several queries, a socket stays open until ``expire(_:)``, because a new socket costs
    /// as much as a query.
    private func closeIfIdle() {
        guard waiting.ids.isEmpty else { return }
        if left > UpstreamLimits.queriesPerSlot - UpstreamLimits.queriesOfBusySlot || left == 0 {
            close()
        } else {
            exchanger?.alarm.bring(forward: deadline)
        }
    }

    private func close() {
        guard socket != nil else { return }
        socket?.close()
        socket = nil
        exchanger?.closed(self)
    }
}
