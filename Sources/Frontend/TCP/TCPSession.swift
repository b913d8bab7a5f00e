// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Resolver

/// One TCP client: reads queries and sends each answer as soon as it is available (RFC 7766).
///
/// Answers may overtake each other; the client matches them by ID (RFC 7766 §7).  Reading,
/// answering and writing happen in callbacks of the service loop: one task for each read and each
/// write would cost four times as much as the answers.
@ServiceLoop
final class TCPSession {
    private let stream: StreamConnection
    private let handler: QueryHandler
    private let client: IPAddress

    /// Client network for quotas.
    let network: ClientNetwork

    /// Octets held by the session, as reported to `handler.sessions`.
    private(set) var held = 0

    var isAllowed: Bool
    private let cookies: CookieJar?
    private let clocks: Clocks

    /// Octets read and not answered: the start of a message or, if `isHeld`, complete messages.
    private var rest: [UInt8] = []

    /// True if reading is suspended until queries are answered, replies are accepted, or other
    /// sessions have been served.
    private var isHeld = false

    /// True while queries are accepted; false after end of stream, an error or a timeout.
    private var isReading = true

    /// Rendered replies, each with its length before it (RFC 7766 §8).
    private var outgoing: [UInt8] = []

    /// Replies to render when the socket accepts them.
    private var ready = ReadyReplies()

    private var malformed = 0

    /// Replies being written, and the number of octets already written.
    private var leaving: [UInt8] = []
    private var gone = 0

    private var pending = 0

    private var isClosed = false

    /// True if a run of `catchUpSoon` is scheduled.
    private var isCatchingUp = false

    private(set) var lastActive: ContinuousClock.Instant

    /// The instant at which reading resumes; nil if reading is not suspended.
    private var pausedUntil: ContinuousClock.Instant?

    private var deadlines = TCPDeadlines()

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.timePassed() }

    private var whenEnded: CheckedContinuation<Void, Never>?

    private var isIdle: Bool { pending == 0 && unsent == 0 }

    /// Octets of replies not accepted by the client yet.
    private var unsent: Int { outgoing.count + leaving.count + ready.octets }

    /// True if reading is suspended because too many replies are unsent.
    var isBlocked: Bool { unsent > TCPLimits.unwritten }

    /// Makes a session for an accepted connection.
    ///
    /// - Parameters:
    ///   - cookies: secrets of DNS cookies; nil on loopback.
    ///   - clocks: time base of the timeouts.
    init(
        _ stream: StreamConnection,
        handler: QueryHandler,
        client: IPAddress,
        isAllowed: Bool,
        cookies: CookieJar?,
        clocks: Clocks
    ) {
        self.stream = stream
        self.handler = handler
        self.client = client
        network = ClientNetwork(of: client, isProven: true)
        self.isAllowed = isAllowed
        self.cookies = cookies
        self.clocks = clocks
        lastActive = clocks.now()
    }

    /// Serves the client until it disconnects, exceeds a limit or is closed.
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

    /// Closes the session immediately; pending answers are dropped.
    func close() {
        stream.close()
        isClosed = true
        isReading = false
        (rest, outgoing, leaving, ready) = ([], [], [], ReadyReplies())
        deadlines = TCPDeadlines()
        handler.sessions.remove(self)
        held = 0
        endIfDone()
    }

    /// Reports the held octets to the session table, which may close the session.
    private func account() {
        let change = rest.count + unsent - held
        guard change != 0 else { return }
        held += change
        handler.sessions.update(self, by: change)
    }

    /// Closes a session that has stopped reading, when all replies are sent.
    ///
    /// A client that closed only its sending side gets all answers.  If the client has
    /// disconnected, the next write fails and closes the session.
    private func endIfDone() {
        guard !isReading, isIdle else { return }
        alarm.set(nil)
        stream.close()
        whenEnded?.resume()
        whenEnded = nil
    }

    /// Ends the handling of an event: updates memory accounting, session state and timer.
    private func settle() {
        account()
        endIfDone()
        watch()
    }

    // MARK: - Reading

    /// Reads the available octets, answers the complete messages and writes the replies.
    ///
    /// - Parameter toEnd: true to read until the end of the stream, which may have been signalled
    ///   already; the edge-triggered event does not occur again.
    private func serve(toEnd: Bool) {
        guard isReading else { return }
        let messages = handler.streams
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
        if hits > 0 { handler.noteHits(hits, since: now) }
        guard isReading else { return rest = [] }
        // `+=` alone allocates even if both arrays are empty.
        let more = messages.end()
        if rest.isEmpty { rest = more } else { rest += more }
        if rest.isEmpty || isHeld {
            deadlines.message = nil
        } else if deadlines.message == nil {
            deadlines.message = now + TCPLimits.messageTime
        }
    }

    /// Reads once; returns true if more octets may be available.
    private func read(_ messages: TCPBatch, toEnd: Bool) -> Bool {
        do throws(SocketError) {
            guard let count = try messages.read(from: stream) else { return false }
            if count == 0 { isReading = false }
            return toEnd || count == TCPLimits.readOctets
        } catch {
            // The queries received before the error are still answered.
            isReading = false
            return false
        }
    }

    // MARK: - Answering

    private func asker(_ now: ContinuousClock.Instant) -> ClientContext {
        ClientContext(
            transport: .tcp,
            address: client,
            isAllowed: isAllowed,
            cookies: cookies?.terms(now: now, wallSeconds: Clock.wallSeconds),
            keepalive: TCPLimits.keepalive
        )
    }

    private var isTaking: Bool {
        isReading && pending < TCPLimits.pending && !isBlocked && pausedUntil == nil
    }

    /// Answers the complete messages, as far as the client's limits allow.
    ///
    /// - Returns: number of cache hits.
    private func answer(
        _ messages: TCPBatch,
        from asker: ClientContext,
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
                if let query = messages.query(slot) { handler.refresh(query) }
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

    /// Answers one message, either immediately or when the resolver completes.
    private func answer(
        _ message: [UInt8],
        from asker: ClientContext,
        _ now: ContinuousClock.Instant
    ) {
        switch handler.look(at: message, from: asker, arrival: now) {
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
            handler.find(open) { [self] resolution in
                pending -= 1
                if resolution.isRefused { pause() }
                if !isClosed { ready.append(open, resolution) }
                account()
                catchUpSoon()
            }
        }
    }

    /// Suspends reading for `TCPLimits.pause`: the client exceeded its share of queries in flight.
    private func pause() {
        pausedUntil = clocks.now() + TCPLimits.pause
    }

    /// Counts an invalid message; too many in a row end the session.
    private func noteMalformed() {
        malformed += 1
        guard isReading, malformed >= TCPLimits.malformed else { return }
        handler.sessions.noteMalformed()
        isReading = false
    }

    private func framed(_ message: [UInt8]) -> [UInt8] {
        [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
    }

    // MARK: - Writing

    /// Schedules one run that writes new replies and reads more queries.
    ///
    /// Several calls in one turn of the service loop cause one run.
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

    /// Writes the replies of a batch, after those already waiting.
    private func write(_ messages: TCPBatch) {
        do throws(SocketError) {
            let isFirst = unsent == 0
            try messages.write(to: isFirst ? stream : nil, waiting: &outgoing)
        } catch {
            // The client has disconnected.
            close()
        }
        write()
    }

    /// Writes waiting replies until none is left or the kernel accepts no more.
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
                // The client has disconnected.
                return close()
            }
            if gone == leaving.count {
                leaving = []
                deadlines.writing = nil
                lastActive = clocks.now()
            }
        }
    }

    private func render() {
        while outgoing.count < TCPLimits.batchOctets, let next = ready.pop() {
            outgoing += framed(handler.render(next.resolution, next.query))
        }
    }

    // MARK: - Patience

    /// The next deadline for the client; nil if the client waits for the daemon.
    private var due: ContinuousClock.Instant? {
        let idleUntil = isIdle ? lastActive + TCPLimits.idleTime : nil
        return deadlines.due(isReading: isReading, idleUntil: idleUntil)
    }

    private func watch() {
        if let next = TCPDeadlines.earlier(due, pausedUntil) { alarm.bring(forward: next) }
    }

    /// Handles the timer: ends a pause, and ends the session if a deadline has passed.
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
            // The client does not read its replies.
            close()
        } else {
            isReading = false
            rest = []
            endIfDone()
        }
    }
}
