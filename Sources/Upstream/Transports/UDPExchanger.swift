// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// UDP exchanges with one server over a few shared sockets; see "Decisions" of the module.
///
/// The kernel chooses a random port for each socket and drops messages from other addresses
/// (RFC 5452 §9.2).
@ServiceLoop
final class UDPExchanger {
    enum Outcome {
        case reply(UpstreamReply)

        /// The reply does not fit in UDP or may be forged; repeat the query over TCP (RFC 7766 §5).
        case needsStream

        case failed(UpstreamError)
    }

    typealias Completion = @ServiceLoop (Outcome) -> Void

    /// Messages from the server's address that match no query.
    fileprivate(set) var foreignReplies: UInt64 = 0

    /// Sockets closed because of forged messages.
    fileprivate(set) var forgeries: UInt64 = 0

    private let server: SocketAddress
    private let validates: Bool
    private let clocks: Clocks
    private var random = RandomPool()

    /// Sockets that accept queries.
    private var slots = [UDPSocketSlot?](repeating: nil, count: UpstreamLimits.slots)

    /// All sockets, including those that only wait for replies.
    private var open: [ObjectIdentifier: UDPSocketSlot] = [:]

    fileprivate lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    /// Creates an exchanger for `server`; opens nothing.
    nonisolated init(_ server: SocketAddress, validates: Bool, clocks: Clocks) {
        self.server = server
        self.validates = validates
        self.clocks = clocks
    }

    /// Sends a query; `completion` is called once, possibly before `ask` returns.
    func ask(
        _ query: ForwardedQuery,
        deadline: Instant,
        _ completion: @escaping Completion
    ) {
        do throws(SocketError) {
            let slot = try openSlot()
            var exchange: UpstreamExchange
            repeat {
                exchange = UpstreamExchange(query, validates: validates, random: &random)
            } while slot.hasUsed(exchange.id)
            let number = try slot.send(exchange, until: deadline, completion)
            query.cancellation?.whenCancelled { [id = exchange.id] in
                slot.cancel(id, number)
            }
            alarm.bring(forward: deadline)
        } catch {
            completion(.failed(UpstreamError(error)))
        }
    }

    /// Stops sending queries on the existing sockets.
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
        // Rounded up, so that many queries share one timer.
        let next = open.values.lazy.map(\.deadline).min()
        alarm.set(next.map { max($0, now + UpstreamLimits.grain) })
    }
}

/// UDP socket with its outstanding queries; closed when there are none.
@ServiceLoop
private final class UDPSocketSlot: DatagramReceiving {
    private struct Waiting {
        let exchange: UpstreamExchange
        let deadline: Instant
        let completion: UDPExchanger.Completion

        /// Distinguishes the query from earlier ones with the same ID.
        let number: Int
    }

    private let opened: Instant
    private var socket: DatagramSocket?
    private weak var exchanger: UDPExchanger?

    private var waiting: [UInt16: Waiting] = [:]

    /// IDs of ended queries: a late or duplicated reply does not count as forged.
    ///
    /// At most ``UpstreamLimits/queriesPerSlot``.
    private var ended: Set<UInt16> = []

    private var foreignReplies = 0

    /// Number of queries that can still be sent.
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

    /// Returns true if a query of this socket has or had this ID.
    func hasUsed(_ id: UInt16) -> Bool { waiting[id] != nil || ended.contains(id) }

    /// Earliest deadline of the outstanding queries, or the end of the socket's period without any.
    var deadline: Instant {
        waiting.values.lazy.map(\.deadline).min() ?? opened + UpstreamLimits.socketLifetime
    }

    /// Sends a query.
    ///
    /// - Returns: the number of the query, for ``cancel(_:_:)``.
    /// - Throws: the kernel's error, which may concern an earlier query.  All outstanding queries
    ///   then fail.
    func send(
        _ exchange: UpstreamExchange,
        until deadline: Instant,
        _ completion: @escaping UDPExchanger.Completion
    ) throws(SocketError) -> Int {
        do throws(SocketError) {
            guard let socket else { throw .closed }
            try socket.send(exchange.message)
        } catch {
            failed(error)
            throw error
        }
        left -= 1
        waiting[exchange.id] = Waiting(
            exchange: exchange,
            deadline: deadline,
            completion: completion,
            number: left
        )
        return left
    }

    func cancel(_ id: UInt16, _ number: Int) {
        guard let query = waiting[id], query.number == number else { return }
        end([query], with: .timedOut)
    }

    func received(_ octets: Span<UInt8>) {
        let id = octets.count >= 2 ? UInt16(octets[0]) << 8 | UInt16(octets[1]) : nil
        guard let id, let asked = waiting[id] else {
            if !(id.map(ended.contains) ?? false) { noteForeign() }
            return
        }
        let outcome: UDPExchanger.Outcome
        switch asked.exchange.validate(octets) {
        case .foreign: return noteForeign()
        case .reply(let message): outcome = .reply(message)
        case .truncated, .caseLost: outcome = .needsStream
        }
        remove(id)
        closeIfIdle()
        asked.completion(outcome)
    }

    /// Counts an unmatched message; closes the socket after several: a forger may know its port.
    private func noteForeign() {
        exchanger?.foreignReplies += 1
        foreignReplies += 1
        guard foreignReplies >= UpstreamLimits.foreignReplies else { return }
        exchanger?.forgeries += 1
        let queries = Array(waiting.values)
        waiting = [:]
        close()
        for query in queries { query.completion(.needsStream) }
    }

    func failed(_ error: SocketError) {
        // Closed first: a completion may send another query, which must not use this socket.
        let queries = Array(waiting.values)
        waiting = [:]
        close()
        for query in queries { query.completion(.failed(UpstreamError(error))) }
    }

    func expire(_ now: Instant) {
        end(waiting.values.filter { $0.deadline <= now }, with: .timedOut)
        if waiting.isEmpty, !takesQueries(at: now) { close() }
    }

    private func end(_ queries: [Waiting], with error: UpstreamError) {
        for query in queries { remove(query.exchange.id) }
        closeIfIdle()
        for query in queries { query.completion(.failed(error)) }
    }

    private func remove(_ id: UInt16) {
        waiting[id] = nil
        ended.insert(id)
    }

    /// Closes the socket if no query is outstanding and no further one is expected.
    ///
    /// A socket that has served several queries stays open until ``expire(_:)``, because a new
    /// socket costs as much as a query.  A single query thus has its own port.
    private func closeIfIdle() {
        guard waiting.isEmpty else { return }
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
