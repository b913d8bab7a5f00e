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

    fileprivate(set) var forgeries: UInt64 = 0

    private let server: SocketAddress
    private let validates: Bool
    private let clocks: Clocks
    private var random = RandomPool()

    private var slots = InlineArray<8, UDPSocketSlot?>(repeating: nil)

    /// The slot `index` sends the next `left` datagrams of the batch `batch`.
    private var chosen = (index: 0, batch: -1, left: 0)

    private var all: [UDPSocketSlot] = []

    /// Closed socket objects outside `slots`, which can be opened again for new queries.
    private var spare: [UDPSocketSlot] = []

    fileprivate var alarm: Alarm {
        if let madeAlarm { return madeAlarm }
        // Not `weak`, because an object with weak references has a slower reference count.
        let made = Alarm(clocks) { [unowned self] in expire() }
        madeAlarm = made
        return made
    }
    private var madeAlarm: Alarm?

    /// Time at which the latest answered query was sent.
    fileprivate var answeredQuery: Instant?

    nonisolated init(_ server: SocketAddress, validates: Bool, clocks: Clocks) {
        self.server = server
        self.validates = validates
        self.clocks = clocks
    }

    /// Sends a query; after the reply, ends the attempt, or lets `transport` query over TCP.
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
            let failure = UpstreamError(error)
            guard error == .noPort else { return attempt.end(.failure(failure)) }
            // A local user can hold all UDP ports. If TCP also fails, the attempt ends with the
            // error of UDP, because the server may serve only UDP.
            transport.repeatOverStream(attempt) { _ in attempt.end(.failure(failure)) }
        }
    }

    func renew() {
        for index in slots.indices {
            slots[index]?.isCurrent = false
            slots[index] = nil
        }
    }

    private func openSlot() throws(SocketError) -> UDPSocketSlot {
        let index = chooseSlot()
        let now = clocks.now()
        var closed: UDPSocketSlot?
        if let slot = slots[index] {
            if slot.takesQueries(at: now) { return slot }
            if slot.isClosed { closed = slot } else { slot.isCurrent = false }
        }
        let slot = closed ?? spare.popLast() ?? newSlot()
        slots[index] = slot
        slot.isCurrent = true
        try slot.open(to: server, now)
        return slot
    }

    /// Chooses a random slot for the first queries of a batch, then the following slots in order.
    private func chooseSlot() -> Int {
        let batch = DatagramSocket.batch
        if chosen.batch != batch {
            let index = Int(random.next() % UInt64(slots.count))
            chosen = (index, batch, UpstreamLimits.queriesTogether)
        } else if chosen.left == 0 {
            let index = (chosen.index + 1) % slots.count
            chosen = (index, batch, UpstreamLimits.queriesTogether)
        }
        chosen.left -= 1
        return chosen.index
    }

    private func newSlot() -> UDPSocketSlot {
        let slot = UDPSocketSlot(of: self)
        all.append(slot)
        return slot
    }

    fileprivate func closed(_ slot: UDPSocketSlot) { spare.append(slot) }

    /// True if the server has answered a query that was sent not long ago.
    fileprivate var isAnswering: Bool {
        answeredQuery.map { clocks.now() - $0 < UpstreamLimits.answering } ?? false
    }

    private func expire() {
        let now = clocks.now()
        for slot in all { slot.expire(now) }
        all.removeAll { $0.isClosed && !$0.isCurrent }
        spare = []
        // Queries that are due soon share a timer.
        let next = all.lazy.filter { !$0.isClosed }.map(\.deadline).min()
        alarm.set(next.map { max($0, now + UpstreamLimits.grain) })
    }

    /// No query is outstanding, because a query retains the exchanger.
    isolated deinit {
        madeAlarm?.set(nil)
        for slot in all { slot.closeSocket() }
    }
}

/// UDP socket and its outstanding queries; can be reopened after ``closeSocket()``.
@ServiceLoop
final class UDPSocketSlot: DatagramReceiving {
    private unowned let exchanger: UDPExchanger

    var isCurrent = false

    private let socket = DatagramSocket()
    private var opened = Instant(nanoseconds: 0)

    /// IDs of all queries that this socket has sent; a message with another ID may be forged.
    private var ids = InlineArray<64, UInt16>(repeating: 0)

    /// Outstanding queries, at the index of their IDs in `ids`; nil for a query that has ended.
    private var attempts = InlineArray<64, Attempt?>(repeating: nil)

    private var outstanding = 0

    private var sent = 0

    private var foreignReplies = 0

    init(of exchanger: UDPExchanger) { self.exchanger = exchanger }

    var isClosed: Bool { !socket.isOpen }

    func open(to server: SocketAddress, _ now: Instant) throws(SocketError) {
        try socket.open(to: server, for: self)
        opened = now
        (sent, foreignReplies) = (0, 0)
    }

    func takesQueries(at now: Instant) -> Bool {
        !isClosed && sent < ids.count && now - opened < UpstreamLimits.socketLifetime
    }

    func hasUsed(_ id: UInt16) -> Bool { index(of: id) != nil }

    private func index(of id: UInt16) -> Int? {
        for index in 0..<sent where ids[index] == id { return index }
        return nil
    }

    /// Earliest deadline of the outstanding queries; without queries, the time to close the socket.
    var deadline: Instant {
        var deadline: Instant?
        for index in 0..<sent {
            guard let next = attempts[index]?.deadline else { continue }
            deadline = deadline.map { min($0, next) } ?? next
        }
        return deadline ?? opened + UpstreamLimits.socketLifetime
    }

    /// Sends a query.
    ///
    /// - Throws: the kernel's error, which may concern an earlier query. All outstanding queries
    ///   then fail.
    func send(
        _ exchange: consuming UpstreamExchange,
        for attempt: Attempt,
        of transport: PlainTransport
    ) throws(SocketError) {
        do throws(SocketError) {
            try socket.send(octets: exchange.count) { exchange.write(to: &$0) }
        } catch {
            failed(error)
            throw error
        }
        ids[sent] = exchange.id
        attempts[sent] = attempt
        attempt.datagram = Attempt.Datagram(
            exchange: exchange,
            transport: transport,
            index: sent
        )
        sent += 1
        outstanding += 1
        attempt.wasSent(by: self)
    }

    func cancel(_ attempt: Attempt) {
        // The attempt may have the last reference to the transport, and thus to the exchanger.
        let transport = attempt.datagram?.transport
        defer { extendLifetime(transport) }
        guard let index = attempt.datagram?.index, remove(attempt, at: index) else { return }
        closeIfIdle()
        attempt.end(.failure(.timedOut))
    }

    func received(_ octets: Span<UInt8>) {
        guard octets.count >= 2 else { return noteForeign() }
        let id = UInt16(octets[0]) << 8 | UInt16(octets[1])
        guard let index = index(of: id) else { return noteForeign() }
        if let attempt = attempts[index] { received(octets, by: attempt) }
    }

    private func received(_ octets: Span<UInt8>, by attempt: Attempt) {
        guard let datagram = attempt.takeDatagram() else { return }
        let transport = datagram.transport
        defer { extendLifetime(transport) }
        switch datagram.exchange.validate(octets) {
        case .foreign:
            attempt.datagram = datagram
            noteForeign()
        case .reply(let reply):
            exchanger.answeredQuery = attempt.sent
            release(attempt, at: datagram.index)
            attempt.end(.success(reply))
        case .otherCase(let reply):
            release(attempt, at: datagram.index)
            transport.received(otherCase: reply, for: attempt)
        case .truncated:
            release(attempt, at: datagram.index)
            transport.repeatOverStream(attempt)
        case .doubtful:
            release(attempt, at: datagram.index)
            transport.received(doubtful: octets, for: attempt)
        }
    }

    private func release(_ attempt: Attempt, at index: Int) {
        _ = remove(attempt, at: index)
        closeIfIdle()
    }

    private func remove(_ attempt: Attempt, at index: Int) -> Bool {
        guard attempts[index] === attempt else { return false }
        attempts[index] = nil
        attempt.datagram = nil
        outstanding -= 1
        return true
    }

    private func removeAll(
        where isChosen: (Attempt) -> Bool = { _ in true }
    ) -> [(attempt: Attempt, transport: PlainTransport?)] {
        var chosen: [(Attempt, PlainTransport?)] = []
        for index in 0..<sent {
            guard let attempt = attempts[index], isChosen(attempt) else { continue }
            chosen.append((attempt, attempt.datagram?.transport))
            _ = remove(attempt, at: index)
        }
        return chosen
    }

    /// Counts an unmatched message; after ``UpstreamLimits/foreignReplies``, closes the socket.
    private func noteForeign() {
        exchanger.foreignReplies += 1
        foreignReplies += 1
        guard foreignReplies >= UpstreamLimits.foreignReplies else { return }
        exchanger.forgeries += 1
        let queries = removeAll()
        close()
        for query in queries { query.transport?.repeatOverStream(query.attempt) }
    }

    /// Ends the outstanding queries.
    ///
    /// Exception: an ICMP error does not show which query it concerns, and a client can query names
    /// that a device on the path rejects. So while the server answers, several queries stay
    /// outstanding.
    func failed(_ error: SocketError) {
        if outstanding > 1, error.isReceived, exchanger.isAnswering { return }
        let queries = removeAll()
        close()
        for query in queries { query.attempt.end(.failure(UpstreamError(error))) }
    }

    func expire(_ now: Instant) {
        let queries = removeAll { $0.deadline <= now }
        closeIfIdle()
        for query in queries { query.attempt.end(.failure(.timedOut)) }
        if outstanding == 0, !takesQueries(at: now) { close() }
    }

    /// Closes the socket if no query is outstanding and no further query is expected.
    private func closeIfIdle() {
        guard outstanding == 0 else { return }
        if sent < UpstreamLimits.queriesOfBusySlot || sent == ids.count {
            close()
        } else {
            exchanger.alarm.bring(forward: deadline)
        }
    }

    private func close() {
        guard !isClosed else { return }
        closeSocket()
        if !isCurrent { exchanger.closed(self) }
    }

    func closeSocket() { socket.close() }
}

extension SocketError {
    /// True for an error that an ICMP message can cause.
    fileprivate var isReceived: Bool {
        if case .system("recv", _) = self { true } else { false }
    }
}
