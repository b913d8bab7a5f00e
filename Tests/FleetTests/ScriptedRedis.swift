// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Fleet

/// Redis server that knows the commands of a fleet, without a network.
@ServiceLoop
final class ScriptedRedis {
    /// While true, replies are stored.
    var isSilent = false {
        didSet { if !isSilent { for stream in streams { stream.deliver() } } }
    }

    /// If true, no connection can be opened.
    var isDown = false

    /// Reply to EVAL: claim and sum of claims for each key.
    var claims: [Int64] = []

    private(set) var evaluations = 0
    private var streams: [ScriptedStream] = []
    private let world: Simulation
    private let address: SocketAddress

    init(_ world: Simulation) throws {
        self.world = world
        address = try #require(SocketAddress("192.0.2.1:6379"))
    }

    var access: EngineAccess {
        EngineAccess(.servers([address])) {
            [self] (_, _) async throws(EngineError) in
            guard !isDown else { throw .lost("down") }
            let stream = ScriptedStream(self)
            streams.append(stream)
            return stream
        }
    }

    func close() {
        for stream in streams { stream.close() }
        streams = []
    }

    fileprivate func reply(to command: RedisReply) -> String {
        switch command.elements.first?.string {
        case "TIME":
            let seconds = "\(world.wallSeconds)"
            return "*2\r\n$\(seconds.utf8.count)\r\n\(seconds)\r\n$1\r\n0\r\n"
        case "SET": return "+OK\r\n"
        case "LRANGE": return "*0\r\n"
        case "GETRANGE": return "$0\r\n\r\n"
        case "SUBSCRIBE": return "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"
        case "PING": return "+PONG\r\n"
        case "ZCARD": return ":2\r\n"
        case "EVAL":
            evaluations += 1
            return "*\(claims.count)\r\n" + claims.map { ":\($0)\r\n" }.joined()
        default: return ":1\r\n"
        }
    }
}

@ServiceLoop
private final class ScriptedStream: OctetStream {
    private unowned let redis: ScriptedRedis
    private let commands = ReplyReader()
    private var input: [UInt8] = []
    private var reader: Waiter?
    private var isClosed = false

    init(_ redis: ScriptedRedis) { self.redis = redis }

    nonisolated func read(
        upTo limit: Int,
        deadline: Instant?
    ) async throws(SocketError) -> [UInt8] { await nextInput() }

    nonisolated func write(_ octets: [UInt8], deadline: Instant?) async throws(SocketError) {
        await take(octets)
    }

    nonisolated func close() { ServiceLoop.assumeIsolated { end() } }

    private func nextInput() async -> [UInt8] {
        if input.isEmpty || redis.isSilent, !isClosed {
            let waiter = Waiter()
            reader = waiter
            _ = await waiter.wait(until: nil)
        }
        defer { input = [] }
        return input
    }

    private func take(_ octets: [UInt8]) {
        // Commands have the form of replies.
        guard let list = try? commands.read(octets) else { return end() }
        for command in list { input += redis.reply(to: command).utf8 }
        deliver()
    }

    func deliver() {
        guard !redis.isSilent, !input.isEmpty else { return }
        reader?.resume(.ready)
    }

    private func end() {
        isClosed = true
        reader?.resume(.closed)
    }
}
