// SPDX-License-Identifier: Apache-2.0
internal import Net

/// One TCP client: reads its queries, answers each as soon as its answer is there (RFC 7766).
///
/// Answers overtake each other; the client matches them by ID (RFC 7766 §7).  One task reads, one
/// writes, and each query that has to wait has one of its own.
@ServiceLoop
final class TCPSession {
    private let stream: StreamConnection
    private let desk: QueryDesk
    private let isAllowed: Bool

    /// Replies that wait to be written, each with its length before it (RFC 7766 §8).
    private var outgoing: [UInt8] = []
    private var isWriting = false

    /// Queries that wait for their answers.
    private var pending = 0

    /// When the last query or reply went over the connection.
    private(set) var lastActive = Clock.now

    /// Resumed when a reply has been written or a query answered.
    private var progress: CheckedContinuation<Void, Never>?

    /// Whether this connection may be given up to make room for another.
    var isIdle: Bool { pending == 0 && outgoing.isEmpty }

    /// Makes a session for an accepted connection.
    init(_ stream: StreamConnection, desk: QueryDesk, isAllowed: Bool) {
        self.stream = stream
        self.desk = desk
        self.isAllowed = isAllowed
    }

    /// Serves the client until it leaves, breaks a rule or is closed.
    func run() async {
        do throws(SocketError) {
            var input = Input()
            while true {
                while let message = input.next() {
                    answer(message)
                    while pending >= TCPLimits.pending || outgoing.count > TCPLimits.unwritten {
                        startWriting()
                        await waitForProgress()
                    }
                }
                startWriting()
                let more = try await stream.read(
                    upTo: TCPLimits.readOctets,
                    deadline: input.deadline
                )
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
        stream.close()
    }

    /// Ends the session now, whatever is under way.
    func close() {
        stream.close()
        outgoing = []
        resumeProgress()
    }

    // MARK: - Reading

    /// Octets read and not yet used.
    private struct Input {
        private var octets: [UInt8] = []
        private var start = 0

        /// Until when more octets must have come.
        ///
        /// A client may keep a connection without asking for a while; a message that has begun to
        /// come must be whole soon, however its octets trickle in.
        private(set) var deadline = Clock.now + TCPLimits.idleTime

        /// Takes the next whole message.
        mutating func next() -> [UInt8]? {
            if octets.count - start >= 2 {
                let count = Int(octets[start]) << 8 | Int(octets[start + 1])
                if octets.count - start - 2 >= count {
                    defer { start += 2 + count }
                    return Array(octets[start + 2..<start + 2 + count])
                }
            }
            if start > 0 || octets.isEmpty {
                let time = start == octets.count ? TCPLimits.idleTime : TCPLimits.messageTime
                deadline = Clock.now + time
            }
            octets.removeFirst(start)
            start = 0
            return nil
        }

        /// Adds what was read.
        mutating func append(_ more: [UInt8]) {
            if octets.isEmpty { deadline = Clock.now + TCPLimits.messageTime }
            octets += more
        }
    }

    /// Answers one message: at once if that needs no waiting, else when its answer is there.
    private func answer(_ message: [UInt8]) {
        lastActive = Clock.now
        switch desk.look(at: message, over: .tcp, isAllowed: isAllowed, arrival: lastActive) {
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
        }
    }

    /// Writes until nothing is left: all replies that are there in one go.
    private func writeOutgoing() async {
        while !outgoing.isEmpty {
            let octets = outgoing
            outgoing = []
            do throws(SocketError) {
                try await stream.write(octets, deadline: Clock.now + TCPLimits.writeTime)
                lastActive = Clock.now
            } catch {
                // The client is gone, or does not read what it asks for.
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

    /// How long a connection may be silent between messages.
    static let idleTime: Duration = .seconds(20)

    /// How long a message that has begun may take to come whole.
    static let messageTime: Duration = .seconds(4)

    /// How long the client may take to accept replies.
    static let writeTime: Duration = .seconds(5)
}
