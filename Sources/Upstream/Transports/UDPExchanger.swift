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

    /// Sockets for the next queries.
    private var slots = [UDPSocketSlot?](repeating: nil, count: UpstreamLimits.slots)

    /// All open sockets, including sockets that only wait for replies.
    private var open: [UDPSocketSlot] = []

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
        var free: UDPSocketSlot?
        if let slot = slots[index] {
            if slot.takesQueries(at: now) { return slot }
            if slot.isClosed { free = slot }
        }
        let slot = free ?? UDPSocketSlot(of: self)
        slots[index] = slot
        try slot.open(to: server, now)
        slot.place = open.count
        open.append(slot)
        return slot
    }

    fileprivate func closed(_ slot: UDPSocketSlot) {
        guard let place = slot.place else { return }
        slot.place = nil
        let last = open.removeLast()
        guard last !== slot else { return }
        open[place] = last
        last.place = place
    }

    private func expire() {
        let now = clocks.now()
        for slot in open { slot.expire(now) }
        let next = open.lazy.map(\.deadline).min()
        alarm.set(next.map { max($0, now + UpstreamLimits.grain) })
    }

    /// Closes the sockets; no query is outstanding, because a query retains the exchanger.
    isolated deinit { for slot in open { slot.closeSocket() } }
}

/// UDP socket and its outstanding queries; can be reopened after ``closeSocket()``.
@ServiceLoop
private final class UDPSocketSlot: DatagramReceiving, AttemptCarrier {
    private struct Waiting {
        let exchange: UpstreamExchange
        let attempt: Attempt
        let transport: PlainTransport
    }

    private unowned let exchanger: UDPExchanger

    /// Index in the exchanger's list of open sockets.
    var place: Int?

    private var socket: DatagramSocket?
    private var opened = Instant(nanoseconds: 0)

    private var waiting: [Waiting] = []

    /// IDs of all queries on this socket: a late or duplicated reply does not count as forged.
    private var ids = InlineArray<64, UInt16>(repeating: 0)

    /// Number of queries that the socket has sent, at most the count of `ids`.
    private var sent = 0

    private var foreignReplies = 0

    init(of exchanger: UDPExchanger) { self.exchanger = exchanger }

    var isClosed: Bool { socket == nil }

    func open(to server: SocketAddress, _ now: Instant) throws(SocketError) {
        socket = try DatagramSocket(connectedTo: server, receiver: self)
        opened = now
        (sent, foreignReplies) = (0, 0)
    }

    func takesQueries(at now: Instant) -> Bool {
        !isClosed && sent < ids.count && now - opened < UpstreamLimits.socketLifetime
    }

    func hasUsed(_ id: UInt16) -> Bool {
        for index in 0..<sent where ids[index] == id { return true }
        return false
    }

    /// Earliest deadline of the outstanding queries; without queries, the end of the lifetime.
    var deadline: Instant {
        waiting.lazy.map(\.attempt.deadline).min() ?? opened + UpstreamLimits.socketLifetime
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
        ids[sent] = exchange.id
        sent += 1
        waiting.append(Waiting(exchange: exchange, attempt: attempt, transport: transport))
        attempt.wasSent(by: self)
    }

    func cancel(_ attempt: Attempt) {
        guard let query = waiting.first(where: { $0.attempt === attempt }) else { return }
        end([query], with: .timedOut)
    }

    func received(_ octets: Span<UInt8>) {
        guard octets.count >= 2 else { return noteForeign() }
        let id = UInt16(octets[0]) << 8 | UInt16(octets[1])
        guard let place = place(of: id) else {
            if !hasUsed(id) { noteForeign() }
            return
        }
        let validation = waiting[place].exchange.validate(octets)
        if case .foreign = validation { return noteForeign() }
        let query = remove(place)
        closeIfIdle()
        if case .reply(let reply) = validation {
            query.attempt.end(.success(reply))
        } else {
            query.transport.repeatOverStream(query.attempt)
        }
    }

    private func place(of id: UInt16) -> Int? {
        // Not `firstIndex`: the isolation check of its closure takes 350 instructions.
        for place in waiting.indices where waiting[place].exchange.id == id { return place }
        return nil
    }

    private func remove(_ place: Int) -> Waiting {
        waiting.swapAt(place, waiting.count - 1)
        return waiting.removeLast()
    }

    private func removeAll() -> [Waiting] {
        defer { waiting = [] }
        return waiting
    }

    /// Counts an unmatched message, and closes the socket at ``UpstreamLimits/foreignReplies``.
    ///
    /// A forger may know the port of the socket.
    private func noteForeign() {
        exchanger.foreignReplies += 1
        foreignReplies += 1
        guard foreignReplies >= UpstreamLimits.foreignReplies else { return }
        exchanger.forgeries += 1
        let queries = removeAll()
        close()
        for query in queries { query.transport.repeatOverStream(query.attempt) }
    }

    func failed(_ error: SocketError) {
        // The socket is closed first, because a completion handler may open a new socket.
        let queries = removeAll()
        close()
        for query in queries { query.attempt.end(.failure(UpstreamError(error))) }
    }

    func expire(_ now: Instant) {
        end(waiting.filter { $0.attempt.deadline <= now }, with: .timedOut)
        if waiting.isEmpty, !takesQueries(at: now) { close() }
    }

    private func end(_ queries: [Waiting], with error: UpstreamError) {
        for query in queries {
            if let place = place(of: query.exchange.id) { _ = remove(place) }
        }
        closeIfIdle()
        for query in queries { query.attempt.end(.failure(error)) }
    }

    /// Closes the socket if no query is outstanding and no further query is expected.
    ///
    /// After several queries, a socket stays open until ``expire(_:)``, because a new socket costs
    /// as much as a query.
    private func closeIfIdle() {
        guard waiting.isEmpty else { return }
        if sent < UpstreamLimits.queriesOfBusySlot || sent == ids.count {
            close()
        } else {
            exchanger.alarm.bring(forward: deadline)
        }
    }

    private func close() {
        guard !isClosed else { return }
        closeSocket()
        exchanger.closed(self)
    }

    func closeSocket() {
        socket?.close()
        socket = nil
    }
}
