// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Connections to the engine: one for commands, one for the messages of the other machines.
///
/// Both belong to the same server. If one of them fails, both are replaced. A new server must
/// accept a write before it is used: a replica, or an engine that is full, does not.
@ServiceLoop
final class EngineLink {
    typealias Replies = RedisConnection.Replies

    /// State of the link, as in `status`.
    enum State {
        case alone(EngineError?)
        case connected(SocketAddress)
    }

    private(set) var state = State.alone(nil)

    /// Time of the latest change of `state`.
    private(set) var since: Instant

    /// Latest failure, also after a recovery.
    private(set) var lastError: EngineError?

    /// Called when the link is lost or regained; the error is nil for a new connection.
    var onChange: (@ServiceLoop (EngineError?) -> Void)?

    /// Called for each new connection with the stored flushes.
    var onFlushes: (@ServiceLoop ([[UInt8]]) -> Void)?

    /// Receives messages; nil for one that is too long.
    var onMessage: (@ServiceLoop ([UInt8]?) -> Void)?

    /// Returns the engine's clock at an instant; nil before the first connection.
    private(set) var clock: EngineClock?

    /// Number of machines that gave a sign of life lately.
    private(set) var members = 0

    private let access: EngineAccess
    private let keys: LinkKeys
    private let timeout: Duration
    private let clocks: Clocks

    private var commands: RedisConnection?
    private var messages: RedisConnection?
    private var breaker = EngineBreaker()

    private var isStopped = false
    private var task: Task<Void, Never>?
    private var pause: Waiter?
    private lazy var probe = Alarm(clocks) { [weak self] in self?.sendProbe() }
    private lazy var heartbeat = Alarm(clocks) { [weak self] in self?.beat() }

    /// Index of the server that is tried next.
    private var turn = 0

    /// Server that an open breaker probes.
    private var probing: SocketAddress?

    /// Keys of the engine that the link itself uses.
    struct LinkKeys {
        let probe: [UInt8]
        let members: [UInt8]
        let member: [UInt8]
        let flushes: [UInt8]
    }

    init(_ access: EngineAccess, _ keys: LinkKeys, timeout: Duration, clocks: Clocks) {
        self.access = access
        self.keys = keys
        self.timeout = timeout
        self.clocks = clocks
        since = clocks.now()
    }

    /// True if commands can be sent.
    var isUsable: Bool { commands != nil && !breaker.isOpen }

    // MARK: - Life

    func start() {
        guard task == nil else { return }
        task = ServiceLoop.task { await self.run() }
    }

    /// Closes the connections; the link cannot be started again.
    func stop() {
        isStopped = true
        drop(.lost("stopped"))
        pause?.resume(.closed)
    }

    /// Replaces the connections, which a change of the network may have broken.
    func networkChanged() {
        drop(.lost("the network changed"))
        pause?.resume(.ready)
    }

    private func drop(_ reason: EngineError) {
        commands?.close(reason)
        messages?.close(reason)
    }

    private func run() async {
        var wait = FleetLimits.retry.lowerBound
        while !isStopped {
            var reason: EngineError
            let begin = clocks.now()
            do throws(EngineError) {
                reason = try await connectAndWait()
            } catch {
                reason = error
            }
            if clocks.now() - begin >= FleetLimits.lasting { wait = FleetLimits.retry.lowerBound }
            (commands, messages) = (nil, nil)
            probe.set(nil)
            heartbeat.set(nil)
            guard !isStopped else { return }
            turn += 1
            becomeAlone(reason)
            let pause = Waiter()
            self.pause = pause
            // Machines that lost the engine together do not return together.
            let factor = Double.random(in: 0.5...1)
            let timer = clocks.timer(clocks.now() + wait * factor) { pause.resume(.timedOut) }
            if await pause.wait(until: nil) == .ready { wait = FleetLimits.retry.lowerBound }
            timer.cancel()
            wait = min(wait * 2, FleetLimits.retry.upperBound)
        }
    }

    /// Connects, and returns the reason for which the connections ended.
    private func connectAndWait() async throws(EngineError) -> EngineError {
        let deadline = clocks.now() + FleetLimits.connect
        let server = try await server(deadline)
        let ended = Waiter()
        var reason: EngineError?
        func open() async throws(EngineError) -> RedisConnection {
            let connection = RedisConnection(try await access.open(server, deadline), clocks)
            connection.onEnd = { error in
                reason = reason ?? error
                ended.resume(.closed)
            }
            return connection
        }
        let commands = try await open()
        defer { commands.close(reason ?? .lost("closed")) }
        let flushes = try await greet(commands, deadline)
        let messages = try await open()
        defer { messages.close(reason ?? .lost("closed")) }
        let subscription = [
            access.authentication, RedisCodec.command("SUBSCRIBE", FleetKeys.channel),
        ]
        messages.onMessage = { [weak self] in self?.onMessage?($0) }
        _ = try await messages.send(subscription.compactMap(\.self), deadline: deadline)
        guard !isStopped else { throw .lost("stopped") }
        (self.commands, self.messages) = (commands, messages)
        breaker = EngineBreaker()
        onFlushes?(flushes)
        becomeConnected(server)
        beat()
        _ = await ended.wait(until: nil)
        return reason ?? .lost("closed")
    }

    /// Authenticates, reads clock and flushes, and checks that the engine accepts a write.
    private func greet(
        _ connection: RedisConnection,
        _ deadline: Instant
    ) async throws(EngineError) -> [[UInt8]] {
        if let authentication = access.authentication {
            _ = try await connection.send([authentication], deadline: deadline)
        }
        let sent = clocks.now()
        let replies = try await connection.send(
            [
                RedisCodec.command("TIME"), probeCommand,
                RedisCodec.command(
                    ["LRANGE", "0", "\(FleetLimits.flushes - 1)"].inserting(keys.flushes)
                ),
            ],
            deadline: deadline
        )
        try setClock(replies[0], sent: sent)
        return replies[2].elements.compactMap(\.octets)
    }

    private func setClock(_ reply: RedisReply, sent: Instant) throws(EngineError) {
        guard let clock = EngineClock(reply, sent: sent, received: clocks.now()) else {
            throw .unexpected("the reply of the Redis server to TIME is invalid")
        }
        self.clock = clock
    }

    private var probeCommand: [UInt8] {
        RedisCodec.command([
            Array("SET".utf8), keys.probe, [1], Array("PX".utf8), Array("1000".utf8),
        ])
    }

    // MARK: - Sentinel

    /// Returns the server to connect to.
    private func server(_ deadline: Instant) async throws(EngineError) -> SocketAddress {
        switch access.place {
        case .servers(let servers): return servers[turn % servers.count]
        case .sentinels(let sentinels, let master):
            var last = EngineError.lost("there is no Sentinel")
            for offset in sentinels.indices {
                do throws(EngineError) {
                    let sentinel = sentinels[(turn + offset) % sentinels.count]
                    return try await self.master(master, from: sentinel, deadline)
                } catch {
                    last = error
                }
            }
            throw last
        }
    }

    private func master(
        _ name: String,
        from sentinel: SocketAddress,
        _ deadline: Instant
    ) async throws(EngineError) -> SocketAddress {
        let connection = RedisConnection(try await access.open(sentinel, deadline), clocks)
        defer { connection.close(.lost("closed")) }
        let question = RedisCodec.command("SENTINEL", "get-master-addr-by-name", name)
        var replies: [RedisReply]
        do throws(EngineError) {
            replies = try await connection.send([question], deadline: deadline)
        } catch .refused(let text) {
            // Most Sentinels need no password.
            guard text.hasPrefix("NOAUTH"), let authentication = access.authentication else {
                throw .refused(text)
            }
            replies = try await connection.send([authentication, question], deadline: deadline)
        }
        let words = (replies.last?.elements ?? []).compactMap(\.string)
        guard words.count == 2 else {
            throw .unexpected("Sentinel \(sentinel) knows no master `\(name)`")
        }
        let text =
            words[0].contains(":") ? "[\(words[0])]:\(words[1])" : words.joined(separator: ":")
        guard let address = SocketAddress(text) else {
            throw .unexpected("Sentinel \(sentinel) reports a host name, not an IP address")
        }
        return address
    }

    // MARK: - State

    private func becomeAlone(_ reason: EngineError) {
        lastError = reason
        if case .alone(let known) = state {
            state = .alone(reason)
            // The first failure after the start is reported, too.
            if known == nil { onChange?(reason) }
            return
        }
        state = .alone(reason)
        since = clocks.now()
        onChange?(reason)
    }

    private func becomeConnected(_ server: SocketAddress) {
        if case .connected = state { return }
        state = .connected(server)
        since = clocks.now()
        onChange?(nil)
    }
}

// MARK: - Commands

extension EngineLink {
    /// Sends commands together; they must be answered within the timeout of the settings.
    func send(_ list: [[UInt8]], _ completion: consuming Completion<Replies>) {
        guard let commands, !breaker.isOpen else {
            return completion(.failure(.lost("the Redis server is not used")))
        }
        let judged = completion.after { [weak self] (replies: Replies, completion) in
            self?.judge(replies)
            completion(replies)
        }
        commands.send(list, deadline: clocks.now() + timeout, judged)
    }

    /// Sends commands whose replies matter only if they are errors.
    func sendWithoutWaiting(_ list: [[UInt8]], _ completion: consuming Completion<Replies>) {
        guard let commands else {
            return completion(.failure(.lost("the Redis server is not used")))
        }
        let judged = completion.after { [weak self] (replies: Replies, completion) in
            if case .success = replies { self?.judge(replies) }
            completion(replies)
        }
        commands.send(list, deadline: clocks.now() + FleetLimits.command, judged)
    }

    private func judge(_ replies: Replies) {
        switch replies {
        case .success(let replies):
            for case .error(let text) in replies {
                return drop(.refused(text))
            }
            breaker.answered()
        case .failure(.timedOut):
            guard breaker.timedOut(silence: commands?.silence ?? .zero),
                case .connected(let server) = state
            else { return }
            becomeAlone(.timedOut)
            probe.set(clocks.now())
            probing = server
        case .failure: break
        }
    }

    private func sendProbe() {
        guard let commands, breaker.isOpen else { return }
        guard commands.silence < FleetLimits.silence else { return drop(.timedOut) }
        probe.set(clocks.now() + FleetLimits.probe)
        commands.send(
            [probeCommand],
            deadline: clocks.now() + timeout,
            Completion { [weak self] replies in
                guard let self, case .success(let list) = replies else { return }
                if case .error(let text) = list[0] { return drop(.refused(text)) }
                guard breaker.probeAnswered(), let server = probing else { return }
                becomeConnected(server)
            }
        )
    }

    /// Gives a sign of life, and reads the clock and the number of machines.
    private func beat() {
        guard let commands, let messages else { return }
        heartbeat.set(clocks.now() + FleetLimits.heartbeat)
        let sent = clocks.now()
        let seconds = (clock?.milliseconds(at: sent) ?? 0) / 1_000
        let forgotten = "\(seconds - FleetLimits.memberSeconds)"
        let list = [
            RedisCodec.command("TIME"),
            RedisCodec.command([
                Array("ZADD".utf8), keys.members, Array("\(seconds)".utf8), keys.member,
            ]),
            RedisCodec.command(["ZREMRANGEBYSCORE", "-inf", forgotten].inserting(keys.members)),
            RedisCodec.command(["ZCARD"].inserting(keys.members)),
            RedisCodec.command(
                ["EXPIRE", "\(2 * FleetLimits.memberSeconds)"].inserting(keys.members)
            ),
        ]
        let deadline = clocks.now() + FleetLimits.command
        commands.send(
            list,
            deadline: deadline,
            Completion { [weak self] replies in
                guard let self else { return }
                if case .failure(.timedOut) = replies { return drop(.timedOut) }
                guard case .success(let list) = replies else { return }
                for case .error(let text) in list { return drop(.refused(text)) }
                try? setClock(list[0], sent: sent)
                if case .integer(let count) = list[3] { members = Int(clamping: count) }
            }
        )
        // Shows that the connection of the messages works.
        messages.send(
            [RedisCodec.command("PING")],
            deadline: deadline,
            Completion { [weak self] replies in
                if case .failure(.timedOut) = replies { self?.drop(.timedOut) }
            }
        )
    }
}

extension [String] {
    /// Returns the words as arguments, with `key` after the first one.
    fileprivate func inserting(_ key: [UInt8]) -> [[UInt8]] {
        var words = map { Array<UInt8>($0.utf8) }
        words.insert(key, at: 1)
        return words
    }
}
