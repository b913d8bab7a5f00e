// SPDX-License-Identifier: Apache-2.0
package import Fleet
package import Net

/// Simulated Redis server that replies to the commands of a fleet, without a network.
@ServiceLoop
package final class ScriptedRedis {
    package var isSilent = false {
        didSet { if !isSilent { for stream in streams { stream.deliver() } } }
    }

    package var isDown = false

    /// Reply to EVAL: for each key, the claim and the sum of all claims.
    package var claims: [Int64] = []

    package private(set) var evaluations = 0
    private var streams: [ScriptedStream] = []
    private let world: Simulation

    package init(_ world: Simulation) { self.world = world }

    package func access(_ server: SocketAddress) -> EngineAccess {
        EngineAccess(.servers([server])) { [self] (_, _) async throws(EngineError) in
            guard !isDown else { throw .lost("down") }
            let stream = ScriptedStream(self)
            streams.append(stream)
            return stream
        }
    }

    package func close() {
        for stream in streams { stream.close() }
        streams = []
    }

    fileprivate func reply(to command: String) -> String {
        switch command {
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
        var rest = octets[...]
        func number() -> Int {
            let line = rest.dropFirst().prefix { $0 != UInt8(ascii: "\r") }
            rest = rest.dropFirst(line.count + 3)
            return Int(String(decoding: line, as: UTF8.self)) ?? 0
        }
        while !rest.isEmpty {
            var words: [ArraySlice<UInt8>] = []
            for _ in 0..<number() {
                let count = number()
                words.append(rest.prefix(count))
                rest = rest.dropFirst(count + 2)
            }
            input += redis.reply(to: String(decoding: words.first ?? [], as: UTF8.self)).utf8
        }
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
