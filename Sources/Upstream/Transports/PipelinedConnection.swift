// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// Connection with pipelined queries; replies may arrive in any order (RFC 7766 §6.2.1.1).
///
/// Queries can be queued before the connection is established.
@ServiceLoop
final class PipelinedConnection {
    typealias Opening =
        @ServiceLoop (Instant) async throws(UpstreamError) -> any OctetStream

    @ServiceLoop
    final class Pending {
        let client: ClientNetwork?

        /// Query of the daemon, with a reply that is only judged; nil for other queries.
        let own: UpstreamExchange?

        /// True if `own` got an answer, not an error.
        var isGood = false

        fileprivate let waiter = Waiter()
        let since: Instant
        fileprivate var reply: [UInt8]?
        fileprivate(set) var isAnswered = false

        fileprivate(set) var query: (message: [UInt8], attempt: Attempt)?

        init(_ client: ClientNetwork?, own: UpstreamExchange? = nil, since: Instant) {
            self.client = client
            self.own = own
            self.since = since
        }

        /// Ends the wait with the reply to the same query on another connection.
        func end(with reply: [UInt8]) {
            guard query != nil else { return }
            self.reply = reply
            waiter.resume(.ready)
        }
    }

    let begun: Instant

    /// True after the connection was established, even if it has ended.
    private(set) var wasOpen = false

    /// True after the server has accepted the connection, as far as the daemon knows.
    ///
    /// With a `greeting`, data must have arrived: a server that limits connections, or a broken host
    /// of a pool, may accept a connection and then read no query from it.
    private(set) var wasServed = false

    /// Called when `wasServed` becomes true.
    var served: (@ServiceLoop () -> Void)?

    private(set) var hasReplied = false

    private(set) var lastReceived: Instant?

    /// Query of the daemon that makes the server send data on a new connection.
    struct Greeting {
        let query: UpstreamExchange

        /// True if the greeting is the first query; otherwise it follows the queries that wait until
        /// the connection is established.
        let isFirst: Bool
    }

    private let greeting: Greeting?

    /// Time from the start of opening until `wasServed` became true.
    ///
    /// Of the wait for the first reply, at most `fairWait` counts: a client can query a slow name.
    private(set) var openingTime: Duration?

    private(set) var shortest: Duration?

    /// True if a query timed out and no data arrived.
    ///
    /// The connection stays open: a client may have queried a name that the server does not answer.
    private(set) var isSilent = false

    /// Own query of the latest silence check.
    var silenceProbe: Pending?

    /// Result of ``check(_:ended:)``; nil if the connection is not faulty.
    var fault: Fault?

    /// Earliest time of the next check.
    var nextCheck: Instant?

    /// Queries of the current check.
    var samples: [Pending] = []
    var checkEnded: (@ServiceLoop (Bool) -> Instant?)?

    private(set) var end: UpstreamError?

    private(set) var foreignReplies: UInt64 = 0

    let clocks: Clocks
    private(set) var stream: (any OctetStream)?

    private var pending: [UInt16: Pending] = [:]

    var givenUp: [UInt16: Pending] = [:]

    private(set) var isOutOfOrder = false

    /// Queries in the order of sending; all queries before index `first` are answered.
    private var sent: [Pending] = []
    private var first = 0

    var outbox: [UInt8] = []
    var isWriting = false

    private var inbox: [UInt8] = []

    /// Octets in `inbox` that do not count as received data yet.
    private var uncounted = 0

    /// Arrival of the first octet of the incomplete message in `inbox`.
    private var messageBegun: Instant?

    private var idle = UpstreamLimits.idle

    private var isRetired = false

    private var closesWhenIdle = false

    private var random = SystemRandomNumberGenerator()

    /// Opens a connection.
    ///
    /// - Parameter greeting: its reply is ignored.
    init(_ clocks: Clocks, greeting: Greeting? = nil, _ open: @escaping Opening) {
        self.clocks = clocks
        begun = clocks.now()
        self.greeting = greeting
        if let greeting, greeting.isFirst { sendOwn(greeting.query) }
        ServiceLoop.task { await self.run(open) }
    }

    /// True if the connection is established but silent, and a slow name of a client can be the
    /// cause.
    var isUnproven: Bool { wasOpen && end == nil && !wasServed && greeting?.isFirst == false }

    var isUsable: Bool {
        end == nil && !isRetired && givenUp.count < UpstreamLimits.givenUp
            && pending.count < UpstreamLimits.inFlight
    }

    /// Sends `query` with a new ID; returns the reply with the original ID.
    func ask(
        _ query: [UInt8],
        for attempt: Attempt
    ) async throws(UpstreamError) -> [UInt8] {
        if let end { throw end }
        let deadline = attempt.deadline
        let entry = Pending(attempt.client, since: clocks.now())
        entry.query = (query, attempt)
        let id = freeID()
        pending[id] = entry
        append(entry)
        send(query, id: id)
        attempt.cancellation?.whenCancelled { entry.waiter.resume(.cancelled) }
        let outcome = await entry.waiter.wait(until: deadline)
        entry.query = nil
        if pending[id] === entry {
            pending[id] = nil
            givenUp[id] = entry
            closeIfDone()
        }
        switch outcome {
        case .ready:
            guard var reply = entry.reply else { throw end ?? .timedOut }
            // Frees the reply, because the cancellation signal retains the entry until the
            // resolution ends.
            entry.reply = nil
            reply[0] = query[0]
            reply[1] = query[1]
            return reply
        case .closed:
            throw end ?? .timedOut
        case .timedOut:
            // If no data arrived for `fairWait`, perhaps the connection caused the timeout, not the
            // name.
            let silentSince = max(entry.since, lastReceived ?? clocks.now())
            isSilent = deadline - silentSince >= UpstreamLimits.fairWait
            throw .timedOut
        case .cancelled:
            throw .broken("was cancelled")
        }
    }

    /// Accepts no more queries; the connection ends after the last reply.
    func retire() {
        isRetired = true
        closeWhenIdle()
    }

    /// Ends the connection after the last reply; until then, more queries can be sent.
    func closeWhenIdle() {
        closesWhenIdle = true
        closeIfDone()
    }

    private func closeIfDone() {
        if closesWhenIdle, pending.isEmpty { close(.broken("the connection was retired")) }
    }

    func close(_ reason: UpstreamError) {
        guard end == nil else { return }
        end = reason
        stream?.close()
        stream = nil
        // The queries that waited longest are repeated first.
        let waiting = self.waiting
        (inbox, outbox, givenUp) = ([], [], [:])
        (sent, first, pending) = ([], 0, [:])
        served = nil
        for entry in waiting { entry.waiter.resume(.closed) }
    }

    func freeID() -> UInt16 {
        while true {
            let id = UInt16.random(in: 0...UInt16.max, using: &random)
            if pending[id] == nil, givenUp[id] == nil { return id }
        }
    }
}

// MARK: - Order of the queries

extension PipelinedConnection {
    func append(_ entry: Pending) {
        if sent.count > 2 * (pending.count + givenUp.count) + 64 {
            sent = sent[first...].filter { !$0.isAnswered }
            first = 0
        }
        sent.append(entry)
    }

    private func noteAnswered(_ entry: Pending) {
        if oldest !== entry { isOutOfOrder = true }
        entry.isAnswered = true
    }

    private var oldest: Pending? {
        while first < sent.count, sent[first].isAnswered { first += 1 }
        return first < sent.count ? sent[first] : nil
    }

    /// True if the connection was established, and then ended without a reply to any query.
    var isRefusal: Bool { wasOpen && end != nil && !hasReplied }

    /// True if a query is unanswered, even if the query is cancelled or expired.
    var hasUnanswered: Bool { oldest != nil }

    /// Time at which the oldest unanswered query becomes overdue; nil if there is none.
    var overdueTime: Instant? {
        guard wasServed, let oldest, let lastReceived else { return nil }
        let wait =
            shortest.map { max(UpstreamLimits.fairWait, $0 * 2) } ?? UpstreamLimits.longestPatience
        return max(oldest.since, lastReceived) + wait
    }

    /// Returns the overdue query, which may be cancelled or expired; nil if there is none.
    func overdue(at now: Instant) -> Pending? {
        overdueTime.flatMap { $0 <= now ? oldest : nil }
    }

    /// Queries that wait for a reply, the oldest first; without cancelled and expired queries.
    var waiting: [Pending] { sent[first...].filter { $0.query != nil && !$0.isAnswered } }

    var delayed: [Pending] {
        let oldest = oldest
        return waiting.filter { $0 !== oldest }
    }
}

// MARK: - Reading

extension PipelinedConnection {
    private func run(_ open: Opening) async {
        do throws(UpstreamError) {
            let stream = try await open(begun + UpstreamLimits.connect)
            guard end == nil else {
                stream.close()
                return
            }
            self.stream = stream
            wasOpen = true
            lastReceived = clocks.now()
            if let greeting {
                if !greeting.isFirst { sendOwn(greeting.query) }
            } else {
                noteServed()
            }
            write(to: stream)
            while end == nil { try await read(from: stream) }
        } catch {
            close(error)
        }
    }

    private func read(from stream: any OctetStream) async throws(UpstreamError) {
        let octets: [UInt8]
        do throws(SocketError) {
            octets = try await stream.read(upTo: 65_535, deadline: clocks.now() + idle)
        } catch .timedOut {
            if pending.isEmpty { close(.broken("the connection was idle")) }
            return
        } catch {
            throw UpstreamError(error)
        }
        guard !octets.isEmpty else { throw UpstreamError(.closed) }
        let now = clocks.now()
        // The first query was sent when the connection was established.
        if !wasServed, let lastReceived { shortest = now - lastReceived }
        noteServed()
        inbox += octets
        uncounted += octets.count
        // Otherwise, a server that sends single octets could keep a bad connection in use.
        if uncounted >= UpstreamLimits.countedOctets { noteReceived(now) }
        var start = 0
        while end == nil, inbox.count - start >= 2 {
            let count = Int(inbox[start]) << 8 | Int(inbox[start + 1])
            guard inbox.count - start - 2 >= count else { break }
            take(Array(inbox[(start + 2)..<(start + 2 + count)]), now)
            start += 2 + count
        }
        guard end == nil else { return }
        inbox.removeFirst(start)
        if inbox.isEmpty || start > 0 { messageBegun = nil }
        if !inbox.isEmpty {
            let begun = messageBegun ?? now
            messageBegun = begun
            if now - begun >= UpstreamLimits.message {
                throw .broken("sent no complete message for \(UpstreamLimits.message)")
            }
        }
        closeIfDone()
    }

    private func noteReceived(_ now: Instant) {
        lastReceived = now
        isSilent = false
        uncounted = 0
    }

    private func noteServed() {
        guard !wasServed else { return }
        wasServed = true
        let now = clocks.now()
        openingTime = min(now, (lastReceived ?? now) + UpstreamLimits.fairWait) - begun
        served.take()?()
    }

    private func take(_ reply: [UInt8], _ now: Instant) {
        guard reply.count >= 12 else { return noteForeign() }
        let id = UInt16(reply[0]) << 8 | UInt16(reply[1])
        guard let entry = pending.removeValue(forKey: id) else {
            guard let late = givenUp.removeValue(forKey: id) else { return noteForeign() }
            hasReplied = true
            noteReceived(now)
            noteAnswered(late)
            return noteOwn(reply, to: late)
        }
        noteReceived(now)
        let time = now - entry.since
        shortest = min(shortest ?? time, time)
        hasReplied = true
        noteAnswered(entry)
        entry.reply = reply
        entry.waiter.resume(.ready)
    }

    /// Counts an unmatched message; after ``UpstreamLimits/foreignReplies``, ends the connection.
    private func noteForeign() {
        foreignReplies += 1
        if foreignReplies >= UpstreamLimits.foreignReplies {
            close(.broken("sent messages that answer no query"))
        }
    }

    /// Sets the idle timeout that the server sent.
    func keep(for timeout: Duration) { idle = min(timeout, UpstreamLimits.longestIdle) }
}
