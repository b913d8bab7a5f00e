// SPDX-License-Identifier: Apache-2.0
import Control
import Locks
import Logging
import TestWorld
import Testing

@testable import Administration
@testable import Net

@Suite("Dispatch of control calls", .timeLimit(.minutes(5)))
struct ControlDispatcherTests {
    private let peer = StreamConnection.Credentials(pid: 1, uid: 0, gid: 0)

    private func dispatcher(_ handler: FixedHandler, _ logger: Logger) -> ControlDispatcher {
        ControlDispatcher(
            handler: handler,
            access: ControlAccess(mode: 0o660, group: nil, owner: 0),
            logger: logger
        )
    }

    @Test("the dispatcher runs only one `Check` call at a time")
    @ServiceLoop
    func checks() async throws {
        var started = 0
        let gate = Waiter()
        let handler = FixedHandler(onCheck: {
            started += 1
            if started == 1 { _ = await gate.wait(until: nil) }
        })
        let dispatcher = dispatcher(handler, LogRecorder().logger)
        let calls = (0..<4).map { number in
            ServiceLoop.throwingTask {
                let call = try Call(
                    "io.httpdnsd.Control.Check",
                    arguments: CheckRequest(text: "log: {level: debug} # \(number)")
                )
                try await dispatcher.answer(call, from: peer) { _ in }
            }
        }
        while started + dispatcher.checks.waitingJobs < calls.count { await Task.yield() }
        #expect(started == 1)
        gate.resume(.ready)
        for call in calls { try await call.value }
        #expect(started == calls.count)
        #expect(dispatcher.checks.jobs == calls.count)
    }

    @Test("if a client disconnects before its reply, the daemon logs nothing")
    @ServiceLoop
    func vanishedPeer() async throws {
        let log = LogRecorder()
        let dispatcher = dispatcher(FixedHandler(), log.logger)
        for method in ["Version", "Nothing"] {
            var attempts = 0
            await #expect(throws: SocketError.self) {
                try await dispatcher.answer(Call("io.httpdnsd.Control.\(method)"), from: peer) {
                    _ in
                    attempts += 1
                    throw SocketError.closed
                }
            }
            #expect(attempts == 1)
        }
        #expect(log.all.isEmpty)
    }

    @Test("the daemon limits the log lines about refused connections and failed calls")
    @ServiceLoop
    func limitedLines() async throws {
        let lines = Lock<[(message: String, fields: Int)]>([])
        let logger = Logger(label: "test") { _ in FieldRecorder(lines: lines) }
        var limits = LiveServer.timeless
        limits.connections = 1
        var handler = FixedHandler()
        handler.counters.process.cpuSeconds = .nan
        let live = try await LiveServer.start(handler: handler, limits: limits, logger: logger)
        for _ in 0..<2 {
            let client = try await live.client()
            let reply = try await client.ask(#"{"method":"io.httpdnsd.Control.Stats"}"#)
            #expect(reply?.error == "io.httpdnsd.Control.Failed")
            #expect(try await live.client().receive() == nil)
            client.connection.close()
            while live.server.clients > 0 { await Task.yield() }
        }
        await live.stop()
        let found = lines.withLock(\.self)
        #expect(found.count { $0.message.contains("refusing a connection") } == 2)
        #expect(found.count { $0.message.contains("Stats failed") } == 2)
        #expect(found.allSatisfy { $0.fields > 0 })
    }

    @Test("the daemon limits the log lines about pauses and resumes")
    @ServiceLoop
    func limitedPauses() async throws {
        let lines = Lock<[(message: String, fields: Int)]>([])
        let logger = Logger(label: "test") { _ in FieldRecorder(lines: lines) }
        let dispatcher = dispatcher(FixedHandler(), logger)
        for method in ["Pause", "Resume"] {
            let call = Call(
                "io.httpdnsd.Control.\(method)",
                parameters: ["vendor": .string("tencent")]
            )
            try await dispatcher.answer(call, from: peer) { _ in }
        }
        let found = lines.withLock(\.self)
        #expect(found.count == 2)
        #expect(found.allSatisfy { $0.fields > 0 })
    }

    private struct FieldRecorder: LogHandler {
        let lines: Lock<[(message: String, fields: Int)]>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            lines.withLock { $0.append(("\(event.message)", event.metadata?.count ?? 0)) }
        }
    }
}
