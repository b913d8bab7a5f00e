// SPDX-License-Identifier: Apache-2.0
import Frontend
import Locks
import Logging
import Net
import Synchronization
import TestWorld
import Testing

@testable import Daemon

@Suite("The health check of the listeners", .timeLimit(.minutes(15)))
@ServiceLoop
struct SelfCheckTests {
    private let own = OwnQuery()
    private let listeners: Listeners
    private let check: SelfCheck

    init() throws {
        listeners = try Listeners(binding: try #require(SocketAddress("127.0.0.1:0")), workers: 1)
        check = SelfCheck(
            asking: own,
            clocks: .system,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func answerOnce() throws -> WorkerThread {
        let (listener, own) = (listeners.datagrams[0], own)
        return try WorkerThread(named: "answer") {
            var batch = DatagramBatch(for: listener)
            guard batch.receive(from: listener) > 0 else { return }
            let query = batch.copy(0)
            if let reply = own.reply(to: query.octets) { listener.send(reply, inReplyTo: query) }
        }
    }

    private func passes() async -> Bool {
        await check.passes([listeners], within: .milliseconds(100))
    }

    @Test
    func `an address that answered before and is now silent fails the check`() async throws {
        let thread = try answerOnce()
        #expect(await check.passes([listeners], within: .seconds(60)))
        #expect(await !passes())
        #expect(await !passes())
        _ = thread
    }

    @Test
    func `an address that never answered passes the check`() async { #expect(await passes()) }

    @Test
    func `an address without a reply passes only while its worker reads queries`() async throws {
        let thread = try answerOnce()
        #expect(await check.passes([listeners], within: .seconds(60)))
        for _ in 0..<2 {
            let listener = listeners.datagrams[0]
            let flooded = Worker()
            try flooded.start(on: listener) { _ in
                listener.batches.add(10_000, ordering: .relaxed)
            }
            #expect(await check.passes([listeners], within: .seconds(1)))
            flooded.stop()
        }
        #expect(await !passes())
        _ = thread
    }

    @ServiceLoop
    private final class Ports { var areFree = true }

    @Test
    func `an address passes if no socket can be opened for the check`() async throws {
        let log = LogRecorder()
        let ports = Ports()
        let check = SelfCheck(asking: own, clocks: .system, logger: log.logger) {
            (target, receiver) throws(SocketError) in
            if !ports.areFree { throw .noPort }
            return try DatagramSocket(connectedTo: target, receiver: receiver)
        }
        let thread = try answerOnce()
        #expect(await check.passes([listeners], within: .seconds(60)))
        ports.areFree = false
        for _ in 0..<2 {
            #expect(await check.passes([listeners], within: .milliseconds(10)))
        }
        #expect(log.all.count == 2)
        #expect(log.all.last?.contains("connect: no free local port; ") == true)
        ports.areFree = true
        #expect(await !check.passes([listeners], within: .milliseconds(100)))
        _ = thread
    }

    private final class Worker: Sendable {
        private let isOver = Atomic(false)
        private let thread: Lock<WorkerThread?> = Lock(nil)

        func start(
            on listener: DatagramListener,
            _ handle: @escaping @Sendable (ReceivedDatagram) -> Void
        ) throws {
            let made = try WorkerThread(named: "worker") { [self] in
                var batch = DatagramBatch(for: listener)
                while !isOver.load(ordering: .acquiring) {
                    let count = batch.receive(from: listener)
                    for slot in 0..<max(0, count) { handle(batch.copy(slot)) }
                }
            }
            thread.withLock { $0 = made }
        }

        func stop() {
            isOver.store(true, ordering: .releasing)
            thread.withLock { $0 }?.joinInterrupting()
        }
    }

    @Test
    func `a hung worker fails the check although another worker is busy`() async throws {
        let listeners = try Listeners(
            binding: try #require(SocketAddress("127.0.0.1:0")),
            workers: 2
        )
        let workers = try listeners.datagrams.map { [own] listener in
            let worker = Worker()
            try worker.start(on: listener) { query in
                if let reply = own.reply(to: query.octets) {
                    listener.send(reply, inReplyTo: query)
                }
            }
            return worker
        }
        #expect(await check.passes([listeners], within: .seconds(60)))
        for worker in workers { worker.stop() }
        let (busy, hung) = (listeners.datagrams[0], listeners.datagrams[1])
        var clients: [DatagramClient] = []
        while !hung.hasUnreadDatagrams {
            let client = try DatagramClient(connectedTo: listeners.address)
            try client.send([0])
            clients.append(client)
            await Task.yield()
        }
        let worker = Worker()
        try worker.start(on: busy) { _ in busy.batches.add(10_000, ordering: .relaxed) }
        #expect(await !check.passes([listeners], within: .milliseconds(100)))
        worker.stop()
        for client in clients { client.close() }
    }
}
