// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net
internal import Resolver

/// Session of one TCP client, which gets answers in any order (RFC 7766 §7).
///
/// Uses callbacks, because tasks would cost more than the answers.
@ServiceLoop
final class TCPSession {
    private let stream: StreamConnection
    private let handler: QueryHandler
    private let client: IPAddress

    let network: ClientNetwork

    private(set) var held = 0

    var isAllowed: Bool
    private let cookies: CookieJar?
    private let clocks: Clocks

    /// Start of a message or, if `isHeld`, complete messages.
    private var rest: [UInt8] = []

    private var isHeld = false

    private var isReading = true

    private var outgoing: [UInt8] = []

    private var ready = ReadyReplies()

    private var malformed = 0

    /// The socket has accepted the first `gone` octets.
    private var leaving: [UInt8] = []
    private var gone = 0

    /// In ascending order.
    private var arrivals: [Instant] = []

    private var pending: Int { arrivals.count }

    private var isNew = true

    private var isClosed = false

    private var isCatchingUp = false

    /// Units of work in this loop iteration: an answered miss, a rendered reply, or 64 hits.
    ///
    /// At ``TCPLimits/answersPerTurn``, further queries wait for a later iteration.
    private var answers = 0

    private var lastActive: Instant

    private var pausedUntil: Instant?

    private var deadlines = TCPDeadlines()

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.timePassed() }

    private var whenEnded: CheckedContinuation<Void, Never>?

    var isIdle: Bool { pending == 0 && unsent == 0 }

    var waitsSince: Instant { arrivals.first ?? lastActive }

    var isExpendable: Bool {
        isIdle && !isHeld
            && (!isNew || clocks.now() - lastActive >= TCPLimits.firstMessageTime)
    }

    private var unsent: Int { outgoing.count + leaving.count + ready.octets }

    var isBlocked: Bool { unsent > TCPLimits.unwritten }

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

    func run() async {
        stream.observe { [weak self] what in
            guard let self else { return }
            answers = 0
            if what.isWritable { write() }
            if what.isReadable || what.hasEnded || isHeld {
                serveInTurn(toEnd: what.hasEnded || isHeld)
            }
            settle()
        }
        serveInTurn(toEnd: true)
        settle()
        guard isReading || !isIdle else { return }
        await withCheckedContinuation { whenEnded = $0 }
    }

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

    private func account() {
        let change = rest.count + unsent - held
        guard change != 0 else { return }
        held += change
        handler.sessions.update(self, by: change)
    }

    private func endIfDone() {
        guard !isReading, isIdle else { return }
        alarm.set(nil)
        stream.close()
        whenEnded?.resume()
        whenEnded = nil
    }

    private func settle() {
        account()
        endIfDone()
        watch()
    }

    // MARK: - Reading

    private func serveInTurn(toEnd: Bool) {
        guard handler.sessions.isBusy else { return serve(toEnd: toEnd) }
        isHeld = true
        catchUpSoon()
    }

    /// - Parameter toEnd: true if the edge-triggered event for the end of the stream may already
    ///   have occurred.
    private func serve(toEnd: Bool) {
        guard isReading else { return }
        let messages = handler.streams
        messages.begin(with: rest)
        rest = []
        let now = clocks.now()
        let clientContext = clientContext(now)
        var hits: UInt64 = 0
        var isDrained = false
        for turn in 0... {
            hits += answer(messages, from: clientContext, now)
            // `answer` stops at a limit of unsent replies, and then sends some of these replies. So
            // messages can wait although `isTaking` is true.
            isHeld =
                !isTaking || !rest.isEmpty || messages.hasMessage
                || turn == TCPLimits.reads && !isDrained
            guard !isHeld, !isDrained else { break }
            isDrained = !read(messages, toEnd: toEnd)
        }
        if isHeld, isTaking { catchUpSoon() }
        if hits > 0 { handler.noteHits(hits, since: now) }
        answers += Int(hits) / TCPLimits.hitsPerAnswer
        guard isReading else { return rest = [] }
        let more = messages.end()
        if rest.isEmpty { rest = more } else { rest += more }
        if rest.isEmpty || isHeld {
            deadlines.message = nil
        } else if deadlines.message == nil {
            deadlines.message = now + TCPLimits.messageTime
        }
    }

    private func read(_ messages: TCPBatch, toEnd: Bool) -> Bool {
        do throws(SocketError) {
            guard let count = try messages.read(from: stream) else { return false }
            if count == 0 { isReading = false }
            return toEnd || count == TCPLimits.readOctets
        } catch {
            isReading = false
            return false
        }
    }

    // MARK: - Answering

    private func clientContext(_ now: Instant) -> ClientContext {
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

    private func answer(
        _ messages: TCPBatch,
        from clientContext: ClientContext,
        _ now: Instant
    ) -> UInt64 {
        var hits: UInt64 = 0
        while isTaking, rest.isEmpty {
            let outcome = messages.answer(from: clientContext, now: now)
            guard outcome.count > 0 else { break }
            (lastActive, isNew) = (now, false)
            deadlines.message = nil
            hits += outcome.hits
            if outcome.hits > 0 { malformed = 0 }
            for slot in outcome.refreshes {
                if let query = messages.query(slot) {
                    handler.refresh(query, for: clientContext.network(isProven: true))
                }
            }
            for slot in outcome.leftOver {
                let message = messages.message(slot)
                if isTaking, answers < TCPLimits.answersPerTurn {
                    answer(message, from: clientContext, now)
                } else {
                    rest += framed(message)
                }
            }
            if messages.isFull { write(messages) }
        }
        write(messages)
        return hits
    }

    private func answer(
        _ message: [UInt8],
        from clientContext: ClientContext,
        _ now: Instant
    ) {
        answers += 1
        switch handler.look(at: message, from: clientContext, arrival: now) {
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
            arrivals.append(now)
            let completion = Completion<Resolution> { [self] resolution in
                if let index = arrivals.firstIndex(of: now) { arrivals.remove(at: index) }
                if resolution.isRefused { pause() }
                if !isClosed { ready.append(open, resolution) }
                account()
                catchUpSoon()
            }
            handler.find(open, completion)
        }
    }

    private func pause() {
        pausedUntil = clocks.now() + TCPLimits.pause
    }

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

    private func catchUpSoon() {
        guard !isCatchingUp else { return }
        isCatchingUp = true
        handler.sessions.serveLater(self)
    }

    func catchUp() -> Int {
        isCatchingUp = false
        answers = 0
        write()
        if isHeld { serve(toEnd: true) }
        settle()
        return answers
    }

    private func write(_ messages: TCPBatch) {
        do throws(SocketError) {
            let isFirst = unsent == 0
            try messages.write(to: isFirst ? stream : nil, waiting: &outgoing)
        } catch {
            close()
        }
        write()
    }

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
            answers += 1
            outgoing += framed(handler.render(next.resolution, next.query))
        }
    }

    // MARK: - Deadlines

    private var due: Instant? {
        let idleUntil = isIdle ? lastActive + TCPLimits.idleTime : nil
        return deadlines.due(isReading: isReading, idleUntil: idleUntil)
    }

    private func watch() {
        if let next = TCPDeadlines.earlier(due, pausedUntil) { alarm.bring(forward: next) }
    }

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
            close()
        } else {
            isReading = false
            rest = []
            endIfDone()
        }
    }
}
