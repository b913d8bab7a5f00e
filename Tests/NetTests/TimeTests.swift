// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Net

@Suite("Timers and clocks of the loop", .timeLimit(.minutes(15)))
struct TimeTests {
    @Test
    func `an instant converts to the same moment on CLOCK_BOOTTIME, which the timers use`() {
        var time = timespec()
        let before = Clock.bootMicroseconds(Clock.now)
        clock_gettime(CLOCK_BOOTTIME, &time)
        let between = UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
        let after = Clock.bootMicroseconds(Clock.now)
        // The conversion to microseconds rounds up, so the result can be 1 µs too high.
        #expect(before <= between + 1)
        #expect(between <= after)
    }

    @Test
    func `milliseconds are rounded up and never negative`() {
        #expect(Duration.zero.millisecondsRoundedUp == 0)
        #expect(Duration.nanoseconds(1).millisecondsRoundedUp == 1)
        #expect(Duration.milliseconds(1500).millisecondsRoundedUp == 1500)
        #expect(Duration.seconds(-3).millisecondsRoundedUp == 0)
    }

    @ServiceLoop
    @Test
    func `no sleep ends early, and a sleep until a past instant ends immediately`() async throws {
        try await Clocks.system.sleep(Clock.now - .seconds(1))
        let until = Clock.now + .milliseconds(20)
        try await Clocks.system.sleep(until)
        #expect(Clock.now >= until)
    }

    @ServiceLoop
    private func blockLoop(until deadline: Instant) {
        while Clock.now < deadline + .milliseconds(2) {}
    }

    @ServiceLoop
    @Test
    func `a late loop reads the received datagrams before it runs timers`() async throws {
        let peer = try DatagramListener(
            binding: try #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        let sockets = try (0..<50).map { _ in try DatagramClient(connectedTo: peer.address) }
        for socket in sockets { try socket.send([1]) }
        var batch = DatagramBatch(for: peer)
        var queries: [ReceivedDatagram] = []
        while queries.count < sockets.count {
            for slot in 0..<batch.receive(from: peer, waits: false) {
                queries.append(batch.copy(slot))
            }
            await Task.yield()
        }
        var unread: [Int] = []
        let done = Waiter()
        let deadline = Clock.now + .milliseconds(1)
        for _ in 0..<2 {
            _ = LoopTimer(at: deadline) {
                unread.append(sockets.count { !$0.hasReceived })
                if unread.count == 2 { done.resume(.ready) }
            }
        }
        for query in queries { peer.send([2], inReplyTo: query) }
        blockLoop(until: deadline)
        #expect(await done.wait(until: nil) == .ready)
        #expect(unread == [0, 0])
    }

    @ServiceLoop
    @Test
    func `a late loop resumes the readers of streams before it runs timers`() async throws {
        let listener = try StreamListener(binding: try #require(SocketAddress("127.0.0.1:0")))
        let address = try #require(listener.localAddress)
        let client = try await StreamConnection.connect(to: address, deadline: patience)
        let server = try await listener.accept()
        for _ in 0..<20 {
            let reply = Waiter()
            let reader = ServiceLoop.throwingTask {
                let octets = try await client.read(upTo: 9, deadline: patience)
                reply.resume(.ready)
                return octets
            }
            for _ in 0..<4 { await Task.yield() }
            #expect(try server.attemptWrite([7], 0..<1) == 1)
            let deadline = Clock.now + .milliseconds(1)
            blockLoop(until: deadline)
            #expect(await reply.wait(until: deadline) == .ready)
            #expect(try await reader.value == [7])
        }
    }

    @ServiceLoop
    @Test
    func `five thousand timers fire in the order of their deadlines`() async {
        let past = Clock.now - .seconds(1)
        let done = Waiter()
        var called: [Int] = []
        for index in 0..<5000 {
            let rank = index * 1237 % 5000
            _ = LoopTimer(at: past + .microseconds(rank)) {
                called.append(rank)
                if called.count == 5000 { done.resume(.ready) }
            }
        }
        #expect(await done.wait(until: nil) == .ready)
        let inOrder = called.elementsEqual(0..<5000)
        #expect(inOrder)
    }

    @ServiceLoop
    @Test
    func `five thousand concurrent sleepers all wake, and none early`() async throws {
        let start = Clock.now
        let sleepers = (0..<5000).map { index in
            ServiceLoop.throwingTask {
                let until = start + .microseconds(20 * index)
                try await Clocks.system.sleep(until)
                return Clock.now >= until
            }
        }
        var early = 0
        for sleeper in sleepers where try await !sleeper.value { early += 1 }
        #expect(early == 0)
    }

    @ServiceLoop
    @Test
    func `thousands of cancelled sleepers do not affect others`() async throws {
        let sleepers = (0..<5000).map { index in
            Task { @ServiceLoop () -> Bool in
                let far: Duration = index.isMultiple(of: 100) ? .milliseconds(30) : .seconds(3600)
                do { try await Clocks.system.sleep(Clock.now + far) } catch { return false }
                return true
            }
        }
        await Task.yield()
        for (index, sleeper) in sleepers.enumerated() where !index.isMultiple(of: 100) {
            sleeper.cancel()
        }
        var slept = 0
        for sleeper in sleepers where await sleeper.value { slept += 1 }
        #expect(slept == 50)
    }

    @ServiceLoop
    @Test
    func `a sleep in a cancelled task returns immediately`() async {
        let task = Task { @ServiceLoop in
            while !Task.isCancelled { await Task.yield() }
            try await Clocks.system.sleep(Clock.now + .seconds(3600))
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @ServiceLoop
    @Test
    func `a due timer does not fire if an earlier timer cancels it`() async throws {
        let past = Clock.now - .seconds(1)
        let done = Waiter()
        var called = false
        var second: LoopTimer?
        _ = LoopTimer(at: past - .seconds(1)) { second?.cancel() }
        second = LoopTimer(at: past) { called = true }
        _ = LoopTimer(at: Clock.now) { done.resume(.ready) }
        #expect(await done.wait(until: nil) == .ready)
        #expect(!called)
    }
}
