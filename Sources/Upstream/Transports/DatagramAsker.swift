// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Asks one server over UDP, queries that are under way together over a few sockets together.
///
/// The kernel picks each socket's port at random and lets in nothing from any other address
/// (RFC 5452 §9.2).  A query goes through one of the sockets that are open, drawn by lot, or through
/// a new one.  A socket is closed with its last reply and soon takes no more queries, so a query
/// that is alone has a port of its own, and no port lives long enough to be found out: see the
/// room's page.
@ServiceLoop
final class DatagramAsker {
    /// What came of a query.
    enum Outcome {
        case reply(Message)

        /// UDP does not carry the reply, or not beyond doubt (RFC 7766 §5).
        case needsStream

        case failed(UpstreamError)
    }

    typealias Tell = @ServiceLoop (Outcome) -> Void

    /// Messages from the right address that answered no question of ours.
    fileprivate(set) var foreignReplies: UInt64 = 0

    /// Sockets closed because of such messages.
    fileprivate(set) var forgeries: UInt64 = 0

    private let server: SocketAddress
    private let validates: Bool
    private let clocks: Clocks
    private var random = RandomPool()

    /// The sockets that take queries.
    private var lanes = [Lane?](repeating: nil, count: UpstreamLimits.lanes)

    /// All sockets, also those that only wait for replies.
    private var open: [ObjectIdentifier: Lane] = [:]

    /// Ends what has waited too long.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    /// Makes one that asks `server`; opens nothing.
    nonisolated init(_ server: SocketAddress, validates: Bool, clocks: Clocks) {
        self.server = server
        self.validates = validates
        self.clocks = clocks
    }

    /// Asks; `tell` is called once, perhaps before this returns.
    func ask(
        _ query: ForwardedQuery,
        deadline: ContinuousClock.Instant,
        _ tell: @escaping Tell
    ) {
        do throws(SocketError) {
            let lane = try self.lane()
            var exchange: UpstreamExchange
            repeat {
                exchange = UpstreamExchange(query, validates: validates, random: &random)
            } while lane.waits(for: exchange.id)
            let number = try lane.send(exchange, until: deadline, tell)
            query.cancellation?.whenCancelled { [weak lane, id = exchange.id] in
                lane?.cancel(id, number)
            }
            alarm.bring(forward: deadline)
        } catch {
            tell(.failed(UpstreamError(error)))
        }
    }

    /// Asks nothing more through the sockets that there are.
    func renew() {
        for index in lanes.indices { lanes[index] = nil }
    }

    /// The socket for the next query.
    private func lane() throws(SocketError) -> Lane {
        let index = Int.random(in: lanes.indices, using: &random)
        let now = clocks.now()
        if let lane = lanes[index], lane.takesQueries(at: now) { return lane }
        let lane = try Lane(to: server, of: self, now: now)
        lanes[index] = lane
        open[ObjectIdentifier(lane)] = lane
        return lane
    }

    /// A socket is closed.
    fileprivate func closed(_ lane: Lane) { open[ObjectIdentifier(lane)] = nil }

    /// Ends the queries whose time is over.
    private func expire() {
        let now = clocks.now()
        for lane in open.values { lane.expire(now) }
        // Not for each of many that were asked in a row.
        let next = open.values.compactMap(\.deadline).min()
        alarm.set(next.map { max($0, now + UpstreamLimits.grain) })
    }
}

/// A socket, and the queries under way on it; closed when there are none.
@ServiceLoop
private final class Lane: DatagramReceiving {
    /// A query that has no reply yet.
    private struct Waiting {
        let exchange: UpstreamExchange
        let deadline: ContinuousClock.Instant
        let tell: DatagramAsker.Tell

        /// What tells it from earlier queries with the same ID.
        let number: Int
    }

    private let opened: ContinuousClock.Instant
    private var socket: DatagramSocket?
    private weak var asker: DatagramAsker?

    /// Queries without a reply, by ID.
    private var waiting: [UInt16: Waiting] = [:]

    /// IDs of queries that timed out or were cancelled: a late reply to one of them is not forged.
    ///
    /// At most ``UpstreamLimits/queriesPerLane``.
    private var expired: Set<UInt16> = []

    /// Messages that answered no query.
    private var foreignReplies = 0

    /// Queries that may still be sent.
    private var left = UpstreamLimits.queriesPerLane

    /// Opens a socket.
    init(
        to server: SocketAddress,
        of asker: DatagramAsker,
        now: ContinuousClock.Instant
    ) throws(SocketError) {
        opened = now
        self.asker = asker
        socket = nil
        socket = try DatagramSocket(connectedTo: server, receiver: self)
    }

    /// Whether another query may be sent: not if its port has been open for long.
    func takesQueries(at now: ContinuousClock.Instant) -> Bool {
        socket != nil && left > 0 && now - opened < UpstreamLimits.laneLife
    }

    /// Whether a query has this ID already.
    func waits(for id: UInt16) -> Bool { waiting[id] != nil }

    /// When the first of the queries is given up.
    var deadline: ContinuousClock.Instant? { waiting.values.lazy.map(\.deadline).min() }

    /// Sends a query.
    ///
    /// - Returns: the number of the query, for ``cancel(_:_:)``.
    /// - Throws: what the kernel says, be it of this query or of an earlier one: that is the end of
    ///   all that wait here.
    func send(
        _ exchange: UpstreamExchange,
        until deadline: ContinuousClock.Instant,
        _ tell: @escaping DatagramAsker.Tell
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
            tell: tell,
            number: left
        )
        return left
    }

    /// Ends a query early, if it still waits.
    func cancel(_ id: UInt16, _ number: Int) {
        guard let query = waiting[id], query.number == number else { return }
        expired.insert(id)
        end([query], with: .timedOut)
    }

    func received(_ octets: Span<UInt8>) {
        guard octets.count >= 2,
            let asked = waiting.removeValue(forKey: UInt16(octets[0]) << 8 | UInt16(octets[1]))
        else {
            let id = octets.count >= 2 ? UInt16(octets[0]) << 8 | UInt16(octets[1]) : nil
            if id.flatMap({ expired.remove($0) }) == nil { noteForeign() }
            return
        }
        let outcome: DatagramAsker.Outcome
        switch asked.exchange.judge(octets) {
        case .foreign:
            waiting[asked.exchange.id] = asked
            noteForeign()
            return
        case .reply(let message): outcome = .reply(message)
        case .truncated, .caseLost: outcome = .needsStream
        }
        closeIfIdle()
        asked.tell(outcome)
    }

    /// Counts a message that answers no query; after a few of them the port is known to a forger.
    private func noteForeign() {
        asker?.foreignReplies += 1
        foreignReplies += 1
        guard foreignReplies >= UpstreamLimits.foreignReplies else { return }
        asker?.forgeries += 1
        let queries = Array(waiting.values)
        waiting = [:]
        close()
        for query in queries { query.tell(.needsStream) }
    }

    func failed(_ error: SocketError) {
        end(Array(waiting.values), with: UpstreamError(error))
        close()
    }

    /// Ends the queries whose time is over.
    func expire(_ now: ContinuousClock.Instant) {
        let late = waiting.values.filter { $0.deadline <= now }
        for query in late { expired.insert(query.exchange.id) }
        end(late, with: .timedOut)
    }

    private func end(_ queries: [Waiting], with error: UpstreamError) {
        for query in queries { waiting[query.exchange.id] = nil }
        closeIfIdle()
        for query in queries { query.tell(.failed(error)) }
    }

    private func closeIfIdle() {
        if waiting.isEmpty { close() }
    }

    private func close() {
        guard socket != nil else { return }
        socket?.close()
        socket = nil
        asker?.closed(self)
    }
}
