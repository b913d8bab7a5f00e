// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Resolver

/// One TCP client: reads its queries, answers each as soon as its answer is there (RFC 7766).
///
/// Answers overtake each other; the client matches them by ID (RFC 7766 §7).  Nobody waits for the
/// connection: what the kernel says of it is a call, in which all is done that can be.
/// A task for each read, and one for each write, cost four times what the answers did.  Only a
/// query whose answer has to be found has a task.
@ServiceLoop
final class TCPSession {
    private let stream: StreamConnection
    private let desk: QueryDesk
    private let client: IPAddress

    /// The network that the session counts against.
    let network: ClientNetwork

    /// Octets that the session holds, as `desk.sessions` counts them.
    private(set) var held = 0

    /// Whether the client may ask.
    var isAllowed: Bool
    private let cookies: CookieJar?
    private let clocks: Clocks

    /// What was read and is not answered: the beginning of a message, or if `isHeld` many.
    private var rest: [UInt8] = []

    /// Whether no more is read until queries have been answered, or the client has read replies.
    private var isHeld = false

    /// Whether more queries are taken: not when the client has ended, or was silent for too long.
    private var isReading = true

    /// Replies that are rendered, each with its length before it (RFC 7766 §8).
    private var outgoing: [UInt8] = []

    /// Replies that are not rendered yet: rendering waits until the socket accepts them.
    private var ready = ReadyReplies()

    /// Messages in a row that were no valid queries.
    private var malformed = 0

    /// Replies that are being written, which no longer wait, and how much of them has gone.
    private var leaving: [UInt8] = []
    private var gone = 0

    /// Queries that wait for their answers.
    private var pending = 0

    /// Whether the connection is closed: answers that come now are dropped.
    private var isClosed = false

    /// Whether `catchUp` is about to run.
    private var isCatchingUp = false

    /// When the last query or reply went over the connection.
    private(set) var lastActive: ContinuousClock.Instant

    /// The instant at which reading resumes; nil if reading is not suspended.
    private var pausedUntil: ContinuousClock.Instant?

    /// Until when the client must have done what it is waited for; all nil if it is not.
    private var deadlines = TCPDeadlines()

    /// Looks after the deadlines.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.timePassed() }

    /// Resumed when the session has ended.
    private var whenEnded: CheckedContinuation<Void, Never>?

    /// Whether no query waits for its answer, and no reply for the client.
    private var isIdle: Bool { pending == 0 && unsent == 0 }

    /// Octets of replies that the client has not accepted.
    private var unsent: Int { outgoing.count + leaving.count + ready.octets }

    /// Whether no more is read because the client has too many replies to read.
    var isBlocked: Bool { unsent > TCPLimits.unwritten }

    /// Makes a session for an accepted connection.
    ///
    /// - Parameters:
    ///   - cookies: answers the client's cookies; nil on loopback.
    ///   - clocks: the time in which silence is measured.
    init(
        _ stream: StreamConnection,
        desk: QueryDesk,
        client: IPAddress,
        isAllowed: Bool,
        cookies: CookieJar?,
        clocks: Clocks
    ) {
        self.stream = stream
        self.desk = desk
        self.client = client
        network = ClientNetwork(of: client, isProven: true)
        self.isAllowed = isAllowed
        self.cookies = cookies
        self.clocks = clocks
        lastActive = clocks.now()
    }

    /// Serves the client until it leaves, breaks a rule or is closed.
    func run() async {
        stream.observe { [weak self] what in
            guard let self else { return }
            if what.isWritable { write() }
            if what.isReadable || what.hasEnded || isHeld { serve(toEnd: what.hasEnded || isHeld) }
            settle()
        }
        serve(toEnd: true)
        settle()
        guard isReading || !isIdle else { return }
        await withCheckedContinuation { whenEnded = $0 }
    }

    /// Ends the session now, whatever is under way.
    func close() {
        stream.close()
        isClosed = true
        isReading = false
        (rest, outgoing, leaving, ready) = ([], [], [], ReadyReplies())
        deadlines = TCPDeadlines()
        desk.sessions.remove(self)
        held = 0
        endIfDone()
    }

    /// Reports what the session holds now; the session may be closed for it.
    private func account() {
        let change = rest.count + unsent - held
        guard change != 0 else { return }
        held += change
        desk.sessions.update(self, by: change)
    }

    /// Ends a session that reads no more as soon as all is answered.
    ///
    /// A client that only closed its side still gets what it asked for; to one that is gone the
    /// writing fails by itself.
    private func endIfDone() {
        guard !isReading, isIdle else { return }
        alarm.set(nil)
        stream.close()
        whenEnded?.resume()
        whenEnded = nil
    }

    /// Does what comes after all else: ends the session, or waits for the client.
    private func settle() {
        account()
        endIfDone()
        watch()
    }

    // MARK: - Reading

    /// Reads what has come, answers every message in it and writes the replies: each once.
    ///
    /// - Parameter toEnd: whether the end may have come already, for which there is no other edge.
    private func serve(toEnd: Bool) {
        guard isReading else { return }
        let messages = desk.streams
        messages.begin(with: rest)
        rest = []
        let now = clocks.now()
        let asker = asker(now)
        var hits: UInt64 = 0
        var isDrained = false
        for turn in 0... {
            hits += answer(messages, from: asker, now)
            isHeld = !isTaking || !rest.isEmpty || turn == TCPLimits.reads && !isDrained
            guard !isHeld, !isDrained else { break }
            isDrained = !read(messages, toEnd: toEnd)
        }
        if isHeld, isTaking { catchUpSoon() }
        if hits > 0 { desk.noteHits(hits, since: now) }
        guard isReading else { return rest = [] }
        // Not `+=` alone, which allocates even if both are empty.
        let more = messages.end()
        if rest.isEmpty { rest = more } else { rest += more }
        if rest.isEmpty || isHeld {
            deadlines.message = nil
        } else if deadlines.message == nil {
            deadlines.message = now + TCPLimits.messageTime
        }
    }

    /// Reads once; returns whether there may be more.
    private func read(_ messages: StreamDesk, toEnd: Bool) -> Bool {
        do throws(SocketError) {
            guard let count = try messages.read(from: stream) else { return false }
            if count == 0 { isReading = false }
            return toEnd || count == TCPLimits.readOctets
        } catch {
            // Whatever ended the reading, the client gets what it asked for, if it is there.
            isReading = false
            return false
        }
    }

    // MARK: - Answering

    /// What a query's answer depends on besides the query.
    private func asker(_ now: ContinuousClock.Instant) -> Asker {
        Asker(
            transport: .tcp,
            address: client,
            isAllowed: isAllowed,
            cookies: cookies?.terms(now: now, wallSeconds: Clock.wallSeconds),
            keepalive: TCPLimits.keepalive
        )
    }

    /// Whether another query is taken.
    private var isTaking: Bool {
        isReading && pending < TCPLimits.pending && !isBlocked && pausedUntil == nil
    }

    /// Answers the whole messages that were read, as far as the client may ask more.
    ///
    /// - Returns: how many of the answers were the cache's.
    private func answer(
        _ messages: StreamDesk,
        from asker: Asker,
        _ now: ContinuousClock.Instant
    ) -> UInt64 {
        var hits: UInt64 = 0
        while isTaking, rest.isEmpty {
            let outcome = messages.answer(from: asker, now: now)
            guard outcome.count > 0 else { break }
            lastActive = now
            deadlines.message = nil
            hits += outcome.hits
            if outcome.hits > 0 { malformed = 0 }
            for slot in outcome.refreshes {
                if let query = messages.query(slot) { desk.refresh(query) }
            }
            for slot in outcome.leftOver {
                let message = messages.message(slot)
                if isTaking { answer(message, from: asker, now) } else { rest += framed(message) }
            }
            if messages.isFull { write(messages) }
        }
        write(messages)
        return hits
    }

    /// Answers one message: at once if that needs no waiting, else when its answer is there.
    private func answer(
        _ message: [UInt8],
        from asker: Asker,
        _ now: ContinuousClock.Instant
    ) {
        switch desk.look(at: message, from: asker, arrival: now) {
        case .nothing:
            noteMalformed()
        case .malformed(let reply):
            outgoing += framed(reply)
            noteMalformed()
        case .reply(let reply):
            malformed = 0
            outgoing += framed(reply)
        case .question(let open):
            malformed = 0
            pending += 1
            desk.find(open) { [self] resolution in
                pending -= 1
                if resolution.isRefused { pause() }
                if !isClosed { ready.append(open, resolution) }
                account()
                catchUpSoon()
            }
        }
    }

    /// Takes no queries for a while: the client has more than its share of them under way.
    private func pause() {
        pausedUntil = clocks.now() + TCPLimits.pause
    }

    /// Counts a message that is no valid query; too many in a row end the session.
    private func noteMalformed() {
        malformed += 1
        guard isReading, malformed >= TCPLimits.malformed else { return }
        desk.sessions.noteMalformed()
        isReading = false
    }

    /// A message with its length before it (RFC 7766 §8).
    private func framed(_ message: [UInt8]) -> [UInt8] {
        [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
    }

    // MARK: - Writing

    /// Writes the replies that came since, and takes more queries: once a turn of the loop, however
    /// many came.
    private func catchUpSoon() {
        guard !isCatchingUp else { return }
        isCatchingUp = true
        ServiceLoop.task { [self] in
            isCatchingUp = false
            write()
            if isHeld { serve(toEnd: true) }
            settle()
        }
    }

    /// Writes the replies to the messages that were read, behind those that wait.
    private func write(_ messages: StreamDesk) {
        do throws(SocketError) {
            let isFirst = unsent == 0
            try messages.write(to: isFirst ? stream : nil, waiting: &outgoing)
        } catch {
            // The client is gone.
            close()
        }
        write()
    }

    /// Writes what waits, until nothing is left or the kernel takes no more.
    private func write() {
        while true {
            if leaving.isEmpty {
                if outgoing.isEmpty { render() }
                guard !outgoing.isEmpty else { return }
                swap(&leaving, &outgoing)
                gone = 0
                deadlines.writing = clocks.now() + TCPLimits.writeTime
            }
            do throws(SocketError) {
                let count = try stream.attemptWrite(leaving, gone..<leaving.count)
                guard count > 0 else { return }
                gone += count
            } catch {
                // The client is gone.
                return close()
            }
            if gone == leaving.count {
                leaving = []
                deadlines.writing = nil
                lastActive = clocks.now()
            }
        }
    }

    /// Renders replies that wait, up to one batch.
    private func render() {
        while outgoing.count < TCPLimits.batchOctets, let next = ready.pop() {
            outgoing += framed(desk.render(next.resolution, next.query))
        }
    }

    // MARK: - Patience

    /// The end of the patience with the client; nil if it waits for us.
    private var due: ContinuousClock.Instant? {
        let idleUntil = isIdle ? lastActive + TCPLimits.idleTime : nil
        return deadlines.due(isReading: isReading, idleUntil: idleUntil)
    }

    /// Sets the alarm to the next deadline, or earlier.
    private func watch() {
        if let next = TCPDeadlines.earlier(due, pausedUntil) { alarm.bring(forward: next) }
    }

    /// Ends what has taken too long, and a pause that is over.
    private func timePassed() {
        let now = clocks.now()
        if let pausedUntil, pausedUntil <= now {
            self.pausedUntil = nil
            serve(toEnd: true)
            settle()
        }
        guard let due, due <= now else {
            watch()
            return
        }
        if let writing = deadlines.writing, writing <= now {
            // The client does not read what it asks for.
            close()
        } else {
            isReading = false
            rest = []
            endIfDone()
        }
    }
}
