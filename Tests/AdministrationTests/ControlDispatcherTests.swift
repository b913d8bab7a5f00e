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

    @Test("checks run one at a time")
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
}
