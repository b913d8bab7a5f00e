// SPDX-License-Identifier: Apache-2.0
import Foundation
import Glibc
import Logging
import TestWorld

@testable import Administration
@testable import Control
@testable import Net

struct FixedHandler: ControlHandling {
    var counters = Samples.stats

    var largeOctets = 8 << 20

    var onCheck: @ServiceLoop () async -> Void = {}

    func status() async throws(MethodError) -> StatusReply { Samples.status }

    func stats(reset: Bool) async throws(MethodError) -> StatsReply {
        var reply = counters
        if reset { reply.sinceSeconds = 0 }
        return reply
    }

    func stats(every interval: Duration, _ send: @escaping Send<StatsReply>)
        async throws
    {
        var reply = counters
        for second in 0..<3 {
            reply.sinceSeconds = second
            try await send(reply)
        }
        try await Clocks.system.sleep(Clock.now + .day)
    }

    func flush(
        _ scope: FlushRequest.Scope,
        soft: Bool,
        fleet: Bool
    ) async throws(MethodError) -> FlushReply {
        guard !soft else { return FlushReply(removed: 0, marked: 6) }
        switch scope {
        case .all: return FlushReply(removed: 5)
        case .name("bad..example.com", _):
            throw .invalidArgument(argument: "name", reason: "empty label")
        case .name(_, nil): return FlushReply(removed: 2)
        case .name: return FlushReply(removed: 1)
        case .tree: return FlushReply(removed: 4)
        case .negative: return FlushReply(removed: 3)
        case .stale: return FlushReply(removed: 7)
        case .source: return FlushReply(removed: 8)
        }
    }

    func lookup(_ request: LookupRequest) async throws(MethodError) -> LookupReply {
        switch request.name {
        case "www.example.com": return Samples.lookup
        case "large.example.com":
            var reply = Samples.lookup
            reply.entries[0].records = [String(repeating: "x", count: largeOctets)]
            return reply
        default: return LookupReply(entries: [])
        }
    }

    func explain(
        _ request: ExplainRequest,
        isLive: Bool
    ) async throws(MethodError) -> ExplainReply { isLive ? Samples.explained : Samples.foretold }

    func resolve(
        _ request: ResolveRequest,
        _ send: Send<ResolveReply>?
    ) async throws -> ResolveReply {
        var all: [Resolved] = []
        for name in request.names {
            guard name != "bad..example.com" else {
                throw MethodError.invalidArgument(argument: "names", reason: "empty label")
            }
            guard let send else {
                all += Samples.resolved.results
                continue
            }
            try await send(Samples.resolved)
        }
        return ResolveReply(results: all)
    }

    func dump(_ send: @escaping Send<DumpReply>) async throws -> DumpReply {
        for entry in Samples.dump.entries {
            try await send(DumpReply(entries: [entry], total: 2))
        }
        return DumpReply(entries: [], total: 2)
    }

    func topCost(_ count: Int) async throws(MethodError) -> TopReply<NameCost> {
        var reply = Samples.top
        reply.entries = Array(reply.entries.prefix(count))
        return reply
    }

    func bill(_ request: BillRequest) async throws(MethodError) -> BillReply { Samples.bill }

    func countByVendors() async {}

    func prove(_ request: ProveRequest, _ send: Send<ProveReply>?) async throws -> ProveReply {
        Samples.proved
    }

    func topSlow(_ count: Int) async throws(MethodError) -> TopReply<QueryEvent> {
        var reply = Samples.slowest
        reply.entries = Array(reply.entries.prefix(count))
        return reply
    }

    func topQueries(
        _ kind: TopRequest.Kind,
        count: Int
    ) async throws(MethodError) -> TopReply<QueryCount> {
        var reply = Samples.counts(kind)
        reply.entries = Array(reply.entries.prefix(count))
        return reply
    }

    func watch(_ request: WatchRequest, _ send: @escaping Send<WatchReply>) async throws {
        guard request.name != "bad..example.com" else {
            throw MethodError.invalidArgument(argument: "name", reason: "empty label")
        }
        try await send(Samples.watch)
    }

    func pause(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply {
        switch subject {
        case .vendor("tencent"), .either("tencent"): return Samples.paused
        case .vendor(let name), .upstream(let name), .either(let name):
            throw .notFound(what: "vendor \(name)")
        }
    }

    func resume(_ subject: PauseRequest.Subject) async throws(MethodError) -> PauseReply {
        switch subject {
        case .vendor("tencent"), .either("tencent"): return Samples.resumed
        case .vendor(let name), .upstream(let name), .either(let name):
            throw .notFound(what: "vendor \(name)")
        }
    }

    func settings() -> LongReply<SettingsReply> { LongReply(excess: "") { Samples.settings } }

    func routes(_ request: RoutesRequest) throws(MethodError) -> LongReply<RoutesReply> {
        LongReply(excess: "") { Samples.routes }
    }

    func portal(_ request: PortalRequest) async throws(MethodError) -> PortalReply {
        PortalReply(active: request.off != true, seconds: request.forSeconds)
    }

    func logLevel(_ request: LogLevelRequest) async throws(MethodError) -> LogLevelReply {
        LogLevelReply(level: request.level ?? "info", settingsLevel: "info")
    }

    func reload() async throws(MethodError) -> ReloadReply { Samples.reloaded }

    func check(_ request: CheckRequest) async throws(MethodError) -> ReloadReply {
        await onCheck()
        return request.text == nil ? Samples.reloaded : Samples.rejected
    }

    func version() async throws(MethodError) -> VersionReply { Samples.version }
}

@ServiceLoop
final class LiveServer {
    private let folder: String

    nonisolated let path: String

    let server: ControlServer

    let queue = ManagementQueue()

    let task: Task<SocketError?, Never>

    /// Limits with timeouts of a day, which even a slow machine does not reach.
    nonisolated static var timeless: ControlServer.Limits {
        var limits = ControlServer.Limits()
        (limits.idle, limits.arrival, limits.departure) = (.day, .day, .day)
        return limits
    }

    init(
        handler: FixedHandler = FixedHandler(),
        limits: ControlServer.Limits = LiveServer.timeless,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) throws {
        folder = try temporaryFolder()
        path = folder + "/control.sock"
        let socket = try GroupSocket.open("control", path: path, mode: 0o600, group: nil)
        let server = ControlServer(
            listener: socket.listener,
            dispatcher: ControlDispatcher(
                handler: handler,
                access: socket.access,
                logger: logger,
                queue: queue
            ),
            logger: logger,
            limits: limits
        )
        self.server = server
        task = Task { @ServiceLoop in
            do throws(SocketError) {
                try await server.run()
                return nil
            } catch {
                return error
            }
        }
    }

    nonisolated static func start(
        handler: FixedHandler = FixedHandler(),
        limits: ControlServer.Limits = LiveServer.timeless,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) async throws -> LiveServer {
        try await LiveServer(handler: handler, limits: limits, logger: logger)
    }

    @discardableResult
    func stop() async -> SocketError? {
        task.cancel()
        let end = await task.value
        try? FileManager.default.removeItem(atPath: folder)
        return end
    }

    func client() async throws -> LiveClient {
        LiveClient(try await StreamConnection.connect(unixPath: path, deadline: nil))
    }
}

@ServiceLoop
final class LiveClient {
    let connection: StreamConnection

    private var decoder = MessageDecoder(maximumOctets: ControlLimits.replyOctets)

    init(_ connection: StreamConnection) { self.connection = connection }

    func send(_ text: String) async throws {
        try await connection.write(Array(text.utf8), deadline: nil)
    }

    func receive() async throws -> Reply? {
        while true {
            if let message = try decoder.next() { return try Reply(message: message) }
            let octets = try await octetsOrEnd()
            guard !octets.isEmpty else { return nil }
            decoder.append(octets)
        }
    }

    private func octetsOrEnd() async throws(SocketError) -> [UInt8] {
        do throws(SocketError) {
            return try await connection.read(upTo: decoder.room, deadline: nil)
        } catch {
            guard error == .system(call: "recv", code: ECONNRESET) else { throw error }
            return []
        }
    }

    func ask(_ text: String) async throws -> Reply? {
        try await send(text + "\0")
        return try await receive()
    }
}

extension Duration {
    fileprivate static var day: Self { .seconds(86_400) }
}
