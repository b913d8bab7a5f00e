// SPDX-License-Identifier: Apache-2.0
internal import Net

/// Connections to Redis: one for commands, one for the messages of other hosts.
///
/// If one connection fails, the link replaces both.
@ServiceLoop
final class EngineLink {
    typealias Replies = RedisConnection.Replies

    /// Connection state, as `httpdnsctl status` shows it.
    enum State {
        case alone(EngineError?)
        case connected(SocketAddress)
    }

    private(set) var state = State.alone(nil)
    private(set) var since: Instant

    private(set) var lastError: EngineError?

    /// Called with nil when Redis becomes usable, and with the error when Redis becomes unusable.
    var onChange: (@ServiceLoop (EngineError?) -> Void)?

    /// Called after each new connection, with the flushes that Redis stores.
    var onFlushes: (@ServiceLoop ([[UInt8]]) -> Void)?

    /// Called with each message; nil stands for a message that is too long.
    var onMessage: (@ServiceLoop ([UInt8]?) -> Void)?

    var clock: EngineClock?

    /// Number of hosts with a heartbeat in the last minute.
    var members = 0

    private let access: EngineAccess
    let keys: LinkKeys
    let timeout: Duration
    let clocks: Clocks
    var commands: RedisConnection?
    var messages: RedisConnection?
    var breaker = EngineBreaker()
    private var isStopped = false
    private var task: Task<Void, Never>?
    private var pause: Waiter?
    lazy var probe = Alarm(clocks) { [weak self] in self?.sendProbe() }
    lazy var heartbeat = Alarm(clocks) { [weak self] in self?.beat() }

    private var turn = 0

    var probing: SocketAddress?

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

    func networkChanged() {
        drop(.lost("the network changed"))
        pause?.resume(.ready)
    }

    func drop(_ reason: EngineError) {
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
            // A random wait spreads the attempts of hosts that lost the server at the same time.
            let factor = Double.random(in: 0.5...1)
            let end = clocks.now() + wait * factor
            if await pause.wait(until: end, clocks) == .ready {
                wait = FleetLimits.retry.lowerBound
            }
            wait = min(wait * 2, FleetLimits.retry.upperBound)
        }
    }

    private func connectAndWait() async throws(EngineError) -> EngineError {
        let deadline = clocks.now() + FleetLimits.connect
        let server = try await server(deadline)
        let ended = Waiter()
        var reason: EngineError?
        func open() async throws(EngineError) -> RedisConnection {
            let connection = RedisConnection(
                try await access.open(server, deadline),
                password: access.password,
                clocks
            )
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
        // `becomeConnected` claims budgets, and a claim needs the number of hosts from `beat`.
        beat()
        heartbeat.set(clocks.now() + FleetLimits.secondHeartbeat)
        becomeConnected(server)
        _ = await ended.wait(until: nil)
        return reason ?? .lost("closed")
    }

    /// Authenticates, checks that the server accepts a write, and returns its stored flushes.
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
                RedisCodec.command("LRANGE", keys.flushes, "0", "\(FleetLimits.flushes - 1)"),
            ],
            deadline: deadline
        )
        try setClock(replies[0], sent: sent)
        return replies[2].elements.compactMap(\.octets)
    }

    func setClock(_ reply: RedisReply, sent: Instant) throws(EngineError) {
        let now = clocks.now()
        guard var clock = EngineClock(reply, sent: sent, received: now) else {
            throw .unexpected("the reply of the Redis server to TIME is invalid")
        }
        if let former = self.clock,
            let step = clock.falseStep(from: former, at: now, wallSeconds: clocks.wallSeconds())
        {
            throw .unexpected(
                """
                the clock of the Redis server went back by \(step) s, and now differs from the \
                clock of this machine; set the clock of the Redis server, or restart httpdnsd to \
                use the clock as it is
                """
            )
        }
        self.clock = clock
    }

    var probeCommand: [UInt8] {
        RedisCodec.command("SET", keys.probe, [1] as [UInt8], "PX", "1000")
    }

    // MARK: - Sentinel

    private func server(_ deadline: Instant) async throws(EngineError) -> SocketAddress {
        switch access.place {
        case .servers(let servers): return servers[turn % servers.count]
        case .sentinels(let sentinels, let master):
            var last = EngineError.lost("no Sentinel is configured")
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
        let connection = RedisConnection(
            try await access.open(sentinel, deadline),
            password: access.password,
            clocks
        )
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
            throw .unexpected(
                "Sentinel \(sentinel) knows no master `\(name)`: correct `fleet.sentinel.master`"
            )
        }
        let text =
            words[0].contains(":") ? "[\(words[0])]:\(words[1])" : words.joined(separator: ":")
        guard let address = SocketAddress(text) else {
            throw .unexpected(
                """
                Sentinel \(sentinel) reports a host name, not an IP address: set \
                `sentinel announce-hostnames no` in its settings
                """
            )
        }
        return address
    }

    // MARK: - State

    func becomeAlone(_ reason: EngineError) {
        lastError = reason
        if case .alone(let known) = state {
            state = .alone(reason)
            if known == nil { onChange?(reason) }
            return
        }
        state = .alone(reason)
        since = clocks.now()
        onChange?(reason)
    }

    /// True if the other hosts had enough time to connect to the current Redis server.
    var isSettled: Bool {
        guard case .connected = state else { return false }
        return clocks.now() - since >= .seconds(FleetLimits.memberSeconds)
    }

    func becomeConnected(_ server: SocketAddress) {
        if case .connected = state { return }
        state = .connected(server)
        since = clocks.now()
        onChange?(nil)
    }
}
