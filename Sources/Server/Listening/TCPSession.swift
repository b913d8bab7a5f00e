// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import Net

/// One TCP client: reads its queries, answers each as soon as its answer is there (RFC 7766).
///
/// Answers overtake each other; the client matches them by ID (RFC 7766 §7).  One task reads, one
/// writes, and each query that has to wait has one of its own.
@ServiceLoop
final class TCPSession {
    private let stream: StreamConnection
    private let desk: QueryDesk
    private let client: IPAddress
    private let isAllowed: Bool
    private let cookies: CookieJar?
    private let clocks: Clocks

    /// Replies that wait to be written, each with its length before it (RFC 7766 §8).
    private var outgoing: [UInt8] = []

    private var isWriting = false

    /// Octets of the replies that are being written, which no longer wait.
    private var leaving = 0

    /// Queries that wait for their answers.
    private var pending = 0

    /// When the last query or reply went over the connection.
    private(set) var lastActive: ContinuousClock.Instant

    /// Until when the client must have done what it is waited for; all nil if it is not.
    private var deadlines = Deadlines()

    /// Looks after the deadlines.
    private lazy var alarm = Alarm(clocks) { [weak self] in self?.timePassed() }

    /// Whether no more queries are taken, because the client was silent for too long.
    private var isLeaving = false

    /// Resumed when a reply has been written or a query answered.
    private var progress: CheckedContinuation<Void, Never>?

    /// Whether this connection may be given up to make room for another.
    var isIdle: Bool { pending == 0 && outgoing.isEmpty && !isWriting }

    /// Whether no more is read because the client has too many replies to read.
    var isBlocked: Bool { outgoing.count + leaving > TCPLimits.unwritten }

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
        self.isAllowed = isAllowed
        self.cookies = cookies
        self.clocks = clocks
        lastActive = clocks.now()
    }

    /// Serves the client until it leaves, breaks a rule or is closed.
    func run() async {
        do throws(SocketError) {
            var input = Input()
            while !isLeaving {
                while let message = input.next() {
                    answer(message)
                    while pending >= TCPLimits.pending || isBlocked {
                        startWriting()
                        await waitForProgress()
                    }
                }
                startWriting()
                let more = try await read(continuing: input.hasBegun)
                guard !more.isEmpty else { break }
                input.append(more)
            }
        } catch {
            // Whatever ended the reading, a client that only closed its side still gets what it
            // asked for; to one that is gone the writing fails by itself.
        }
        while pending > 0 || !outgoing.isEmpty || isWriting {
            await waitForProgress()
        }
        alarm.set(nil)
        stream.close()
    }

    /// Ends the session now, whatever is under way.
    func close() {
        stream.close()
        outgoing = []
        resumeProgress()
    }

    // MARK: - Patience

    /// Until when the client must have done something.
    private struct Deadlines {
        /// The rest of a message that has begun to come.
        var message: ContinuousClock.Instant?

        /// Taking the replies.
        var writing: ContinuousClock.Instant?
    }

    /// When the patience with the client ends, as things are; nil if it waits for us.
    private var due: ContinuousClock.Instant? {
        if isLeaving { return deadlines.writing }
        let silence = isIdle ? lastActive + TCPLimits.idleTime : nil
        return [deadlines.writing, deadlines.message ?? silence].compactMap(\.self).min()
    }

    /// Has the alarm go off at the next deadline, or before.
    private func watch() {
        if let due { alarm.bring(forward: due) }
    }

    /// The alarm has gone off: ends what has taken too long, or waits on.
    private func timePassed() {
        let now = clocks.now()
        guard let due, due <= now else {
            watch()
            return
        }
        if let writing = deadlines.writing, writing <= now {
            // The client does not read what it asks for.
            close()
        } else {
            isLeaving = true
            leaveIfIdle()
        }
    }

    /// Ends the reading of a session that is to end, as soon as all is answered.
    private func leaveIfIdle() {
        if isLeaving, isIdle { stream.close() }
    }

    // MARK: - Reading

    /// Octets read and not yet used.
    private struct Input {
        private var octets: [UInt8] = []
        private var start = 0

        /// Whether a message has begun to come that is not whole yet.
        var hasBegun: Bool { !octets.isEmpty }

        /// Takes the next whole message.
        mutating func next() -> [UInt8]? {
            if octets.count - start >= 2 {
                let count = Int(octets[start]) << 8 | Int(octets[start + 1])
                if octets.count - start - 2 >= count {
                    defer { start += 2 + count }
                    return Array(octets[start + 2..<start + 2 + count])
                }
            }
            octets.removeFirst(start)
            start = 0
            return nil
        }

        /// Adds what was read.
        mutating func append(_ more: [UInt8]) { octets += more }
    }

    /// Reads on; empty when the client is done.
    ///
    /// A client may keep a connection without asking for a while; a message that has begun to come
    /// must be whole soon, however its octets trickle in.
    private func read(continuing hasBegun: Bool) async throws(SocketError) -> [UInt8] {
        if !hasBegun {
            deadlines.message = nil
        } else if deadlines.message == nil {
            deadlines.message = clocks.now() + TCPLimits.messageTime
        }
        watch()
        return try await stream.read(upTo: TCPLimits.readOctets, deadline: nil)
    }

    /// What a query's answer depends on besides the query.
    private var asker: Asker {
        Asker(
            transport: .tcp,
            address: client,
            isAllowed: isAllowed,
            cookies: cookies?.terms(now: Clock.now, wallSeconds: Clock.wallSeconds),
            keepalive: TCPLimits.keepalive
        )
    }

    /// Answers one message: at once if that needs no waiting, else when its answer is there.
    private func answer(_ message: [UInt8]) {
        lastActive = clocks.now()
        deadlines.message = nil
        switch desk.look(at: message, from: asker, arrival: Clock.now) {
        case .nothing:
            break
        case .reply(let reply):
            queue(reply)
        case .question(let open):
            pending += 1
            ServiceLoop.task { [self] in
                queue(await desk.resolve(open))
                pending -= 1
                startWriting()
                resumeProgress()
            }
        }
    }

    // MARK: - Writing

    private func queue(_ reply: [UInt8]) {
        outgoing.append(UInt8(reply.count >> 8))
        outgoing.append(UInt8(reply.count & 0xFF))
        outgoing += reply
    }

    /// Sees to it that what is queued gets written.
    private func startWriting() {
        guard !isWriting, !outgoing.isEmpty else { return }
        isWriting = true
        ServiceLoop.task { [self] in
            await writeOutgoing()
            isWriting = false
            resumeProgress()
            leaveIfIdle()
            watch()
        }
    }

    /// Writes until nothing is left: all replies that are there in one go.
    private func writeOutgoing() async {
        while !outgoing.isEmpty {
            let octets = outgoing
            outgoing = []
            leaving = octets.count
            deadlines.writing = clocks.now() + TCPLimits.writeTime
            defer {
                leaving = 0
                deadlines.writing = nil
            }
            watch()
            do throws(SocketError) {
                try await stream.write(octets, deadline: nil)
                lastActive = clocks.now()
            } catch {
                // The client is gone.
                close()
                return
            }
            resumeProgress()
        }
    }

    // MARK: - Waiting

    private func waitForProgress() async {
        await withCheckedContinuation { progress = $0 }
    }

    private func resumeProgress() {
        let waiting = progress
        progress = nil
        waiting?.resume()
    }
}

/// Bounds on what TCP clients may take up (RFC 7766 §6.2, RFC 9210 §4.4).
enum TCPLimits {
    /// Connections at once; beyond it the longest idle one makes room.
    static let connections = 256

    /// Connections of one address at once.
    static let connectionsPerClient = 128

    /// Queries of one connection that wait for answers; more are read when some have gone.
    static let pending = 100

    /// Octets of replies that the client has not read, beyond which no more is read from it.
    static let unwritten = 256 << 10

    /// Octets read at once.
    static let readOctets = 16 << 10

    /// How long a connection may be silent when nothing is asked on it (RFC 7766 §6.2.3: of the
    /// order of seconds; RFC 9210 §4.4 asks for more than a few).
    static let idleTime: Duration = .seconds(20)

    /// The same for clients that want to know, in units of 100 ms (RFC 7828 §3.1).
    static let keepalive = UInt16(clamping: idleTime.components.seconds * 10)

    /// How long a message that has begun may take to come whole.
    static let messageTime: Duration = .seconds(4)

    /// How long the client may take to accept replies.
    static let writeTime: Duration = .seconds(5)
}
