// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Connection to Redis with pipelined commands; replies come in order.
///
/// On a connection with a subscription, messages come between the replies.
@ServiceLoop
final class RedisConnection {
    typealias Replies = Result<[RedisReply], EngineError>

    private final class Exchange {
        let deadline: Instant
        let sent: Instant
        var left: Int
        var replies: [RedisReply] = []

        /// Nil after a timeout; the connection still reads late replies.
        var completion: Completion<Replies>?

        init(
            _ count: Int,
            sent: Instant,
            deadline: Instant,
            _ completion: consuming Completion<Replies>
        ) {
            left = count
            self.sent = sent
            self.deadline = deadline
            self.completion = consume completion
        }
    }

    /// Called with each message of a subscription; nil stands for a message that is too long.
    var onMessage: (@ServiceLoop ([UInt8]?) -> Void)?

    var onEnd: (@ServiceLoop (EngineError) -> Void)?

    private(set) var end: EngineError?

    private let stream: any OctetStream
    private let clocks: Clocks
    private let password: (@Sendable () -> [UInt8])?
    private let reader = ReplyReader()
    private var pace: MessagePace
    private var exchanges: [Exchange] = []
    private var commands = 0
    private var outbox: [UInt8] = []
    private var isWriting = false

    private lazy var alarm = Alarm(clocks) { [weak self] in self?.expire() }

    /// Creates a connection, which then owns the open stream.
    ///
    /// - Parameter password: the password of Redis, which errors must not show.
    init(_ stream: any OctetStream, password: (@Sendable () -> [UInt8])?, _ clocks: Clocks) {
        self.stream = stream
        self.clocks = clocks
        self.password = password
        pace = MessagePace(at: clocks.now())
        ServiceLoop.task { await self.read() }
    }

    /// Time since the oldest command without a reply was sent; zero if there is none.
    var silence: Duration { exchanges.first.map { clocks.now() - $0.sent } ?? .zero }

    // MARK: - Commands

    /// Sends commands together; all replies must arrive by `deadline`.
    func send(
        _ commands: [[UInt8]],
        deadline: Instant,
        _ completion: consuming Completion<Replies>
    ) {
        if let end { return completion(.failure(end)) }
        let octets = commands.reduce(0) { $0 + $1.count }
        guard self.commands + commands.count <= FleetLimits.commands,
            outbox.count + octets <= FleetLimits.outboxOctets
        else { return completion(.failure(.busy)) }
        self.commands += commands.count
        exchanges.append(
            Exchange(commands.count, sent: clocks.now(), deadline: deadline, completion)
        )
        alarm.bring(forward: deadline)
        for command in commands { outbox += command }
        write()
    }

    /// Sends commands, and returns their replies; throws if the server refuses a command.
    func send(_ commands: [[UInt8]], deadline: Instant) async throws(EngineError) -> [RedisReply] {
        let replies = await withCheckedContinuation { continuation in
            send(commands, deadline: deadline, Completion { continuation.resume(returning: $0) })
        }
        for case .error(let text) in try replies.get() { throw .refused(text) }
        return try replies.get()
    }

    func close(_ reason: EngineError) {
        guard end == nil else { return }
        end = reason
        alarm.set(nil)
        stream.close()
        let waiting = exchanges
        exchanges = []
        for exchange in waiting { exchange.completion.take()?(.failure(reason)) }
        onEnd?(reason)
        (onEnd, onMessage) = (nil, nil)
    }

    private func expire() {
        let now = clocks.now()
        for exchange in exchanges where exchange.deadline <= now {
            exchange.completion.take()?(.failure(.timedOut))
        }
        alarm.set(exchanges.lazy.filter { $0.deadline > now }.map(\.deadline).min())
    }

    // MARK: - Octets

    /// Commands of the same iteration of the service loop are sent together.
    private func write() {
        guard !isWriting else { return }
        isWriting = true
        ServiceLoop.task { [self] in
            defer { isWriting = false }
            do throws(SocketError) {
                while end == nil, !outbox.isEmpty {
                    let octets = outbox
                    outbox = []
                    try await stream.write(octets, deadline: clocks.now() + FleetLimits.command)
                }
            } catch {
                close(.lost("cannot write: \(error)"))
            }
        }
    }

    private func read() async {
        do throws(EngineError) {
            while end == nil {
                let octets: [UInt8]
                do throws(SocketError) {
                    octets = try await stream.read(upTo: 16 << 10, deadline: nil)
                } catch {
                    throw .lost("connection lost: \(error)")
                }
                guard !octets.isEmpty else { throw .lost("the Redis server closed the connection") }
                // A message that is too long also costs processor time, although the reader skips
                // it.
                if onMessage != nil { pace.note(octets.count) }
                for reply in try reader.read(octets) { try take(reply) }
                let pause = pace.pause(at: clocks.now())
                guard pause > .zero else { continue }
                do throws(CancellationError) {
                    try await clocks.sleep(clocks.now() + pause)
                } catch {
                    return
                }
            }
        } catch {
            close(error)
        }
    }

    private func take(_ reply: RedisReply) throws(EngineError) {
        guard end == nil else { return }
        let reply = withoutPassword(reply)
        let elements = reply.elements
        if elements.count == 3, elements[0].string == "message" {
            guard let onMessage else {
                throw .unexpected("the Redis server sent a message without a subscription")
            }
            pace.noteMessage()
            return onMessage(elements[2].octets)
        }
        guard let exchange = exchanges.first else {
            if case .error(let text) = reply { throw .refused(text) }
            throw .unexpected("the Redis server sent a reply without a command")
        }
        exchange.replies.append(reply)
        exchange.left -= 1
        commands -= 1
        guard exchange.left == 0 else { return }
        exchanges.removeFirst()
        exchange.completion.take()?(.success(exchange.replies))
    }

    /// Returns the reply; an error that quotes the password is cut to its first word.
    ///
    /// A server without AUTH quotes the arguments: `ERR unknown command 'AUTH', with args …`.
    private func withoutPassword(_ reply: RedisReply) -> RedisReply {
        guard case .error(let text) = reply, let password else { return reply }
        guard Array(text.utf8).contains(password().prefix(8)) else { return reply }
        let code = text.prefix { $0 != " " }
        return .error("\(code) (the rest is hidden, because it contains the password)")
    }
}
