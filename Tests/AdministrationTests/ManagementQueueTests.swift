// SPDX-License-Identifier: Apache-2.0
import Configuration
import Control
import Logging
import TestWorld
import Testing

@testable import Administration
@testable import Net

@Suite("Queue of management work", .timeLimit(.minutes(5)))
struct ManagementQueueTests {
    @Test("jobs run one at a time, in order, with a pause between them")
    @ServiceLoop
    func order() async {
        let clock = TestClock()
        let queue = ManagementQueue(clock.clocks)
        var done: [Int] = []
        let jobs = (0..<3).map { number in
            ServiceLoop.task { await queue.run(for: 1) { done.append(number) } }
        }
        await jobs[0].value
        for number in 1..<3 {
            #expect(done == Array(0..<number))
            await clock.rest()
            clock.advance(by: 1)
            await jobs[number].value
        }
        #expect(done == [0, 1, 2])
    }

    @Test("jobs of root run first; other users take turns")
    @ServiceLoop
    func users() async {
        let clock = TestClock()
        let queue = ManagementQueue(clock.clocks)
        var done: [UInt32] = []
        await queue.run(for: 7) {}
        var jobs: [Task<Void, Never>] = []
        for user: UInt32 in [1, 1, 1, 2, 2, 0, 3, 0] {
            jobs.append(ServiceLoop.task { await queue.run(for: user) { done.append(user) } })
            while queue.waitingJobs < jobs.count { await Task.yield() }
        }
        while done.count < jobs.count {
            clock.advance(by: 1)
            await clock.rest()
        }
        #expect(done == [0, 0, 1, 2, 3, 1, 2, 1])
    }

    @Test("`offLoop` does not run work on the thread of the service loop")
    @ServiceLoop
    func beside() async {
        let isOnLoop = await ServiceLoop.task {
            await offLoop { LoopExecutor.shared.isCurrent }
        }.value
        #expect(!isOnLoop)
    }

    @Test("metrics requests that wait at the same time share one report")
    @ServiceLoop
    func scrapes() async {
        let clock = TestClock()
        var scrapes = 0
        let renderer = ScrapeRenderer(in: ManagementQueue(clock.clocks)) {
            scrapes += 1
            return MetricsReport(stats: StatsReply(sinceSeconds: scrapes))
        }
        _ = await renderer.body(.prometheus)
        let requests = (0..<20).map { _ in
            ServiceLoop.task { await renderer.body(.prometheus) }
        }
        for _ in 0..<4 { await Task.yield() }
        #expect(scrapes == 1)
        clock.advance(by: 1)
        for request in requests { #expect(await !request.value.isEmpty) }
        #expect(scrapes == 2)
    }

    @Test("during a flood of scrapes, few requests are queued, and the newest client gets a reply")
    @ServiceLoop
    func flood() async throws {
        let clock = TestClock()
        let patience = Clock.now + .seconds(60)
        let queue = ManagementQueue(clock.clocks)
        let renderer = ScrapeRenderer(in: queue) {
            MetricsReport(stats: StatsReply(sinceSeconds: 1))
        }
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let address = try #require(listener.localAddress)
        let limits = MetricsServer.Limits(connections: 2)
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let server = MetricsServer(
            listener,
            at: .address(address),
            logger: logger,
            limits: limits,
            renderer
        )
        let run = ServiceLoop.task { await server.run() }
        var clients: [StreamConnection] = []
        for _ in 0..<40 {
            let client = try await StreamConnection.connect(to: address, deadline: patience)
            let head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            try await client.write(Array(head.utf8), deadline: patience)
            clients.append(client)
        }
        while queue.waitingJobs < limits.tasks - 1 { await Task.yield() }
        for _ in 0..<1000 { await Task.yield() }
        #expect(queue.waitingJobs <= limits.tasks)
        let last = ServiceLoop.throwingTask { [client = clients[39]] in
            try await client.read(upTo: 1000, deadline: patience)
        }
        var isServed = false
        let end = ServiceLoop.task {
            _ = await last.result
            isServed = true
        }
        while !isServed {
            clock.advance(by: 1)
            await Task.yield()
        }
        await end.value
        #expect(try await last.value.starts(with: "HTTP/1.1 200 OK\r\n".utf8))
        server.stop()
        await run.value
    }

    @Test("one queue serves the control calls of all clients")
    @ServiceLoop
    func calls() async throws {
        let live = try await LiveServer.start()
        let queue = live.queue
        let (first, second) = (try await live.client(), try await live.client())
        for client in [first, second] {
            try await client.send(#"{"method":"io.httpdnsd.Control.Stats"}"# + "\0")
        }
        for client in [first, second] { #expect(try await client.receive()?.error == nil) }
        #expect(queue.jobs == 4)
        await live.stop()
    }
}
