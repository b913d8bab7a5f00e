// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import Testing

@testable import Net

@Suite("Descriptors that the loop polls", .timeLimit(.minutes(15)))
struct EventPollTests {
    @ServiceLoop
    private final class Source {
        let descriptor: Int32
        private let peer: Int32
        private(set) var watch: DescriptorWatch?
        var count = 0
        var action: @ServiceLoop (Source) -> Void = { _ in }

        init(isReady: Bool = true, _ events: DescriptorWatch.Events = .readable) throws {
            var pair: [Int32] = [-1, -1]
            let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
            try #require(socketpair(AF_UNIX, type, 0, &pair) == 0)
            (descriptor, peer) = (pair[0], pair[1])
            if isReady { ring() }
            watch = try DescriptorWatch(descriptor, events) { [unowned self] _ in
                count += 1
                action(self)
            }
        }

        func ring() {
            var octet: UInt8 = 1
            _ = write(peer, &octet, 1)
        }

        func end() {
            watch?.cancel()
            watch = nil
        }

        isolated deinit {
            end()
            close(descriptor)
            close(peer)
        }
    }

    private static let many = 50

    @ServiceLoop
    private func turns(_ count: Int) async { for _ in 0..<count { await Task.yield() } }

    @ServiceLoop
    @Test
    func `the handler of a watch that ends while its event is pending is not called`() async throws
    {
        for round in 0..<200 {
            var sources = try (0..<10).map { _ in try Source() }
            var idle: [Source] = []
            var called = 0
            for source in sources {
                source.action = { _ in
                    called += 1
                    switch round % 3 {
                    case 0: for source in sources { source.end() }
                    case 1: for source in sources { source.watch?.suspend(true) }
                    default: sources = []
                    }
                    // New watches may get the memory of the released watches. The descriptors of
                    // new watches are not ready, so their handlers must not be called.
                    for _ in 0..<20 {
                        guard let source = try? Source(isReady: false) else { continue }
                        source.action = { _ in called += 1000 }
                        idle.append(source)
                    }
                }
            }
            await turns(50)
            #expect(called == 1)
            for source in sources { source.action = { _ in } }
        }
    }

    @ServiceLoop
    @Test
    func `a watch may be released in its own handler`() async throws {
        let done = Waiter()
        var source: Source? = try Source()
        source?.action = { _ in
            source = nil
            done.resume(.ready)
        }
        #expect(await done.wait(until: nil) == .ready)
        #expect(source == nil)
    }

    @ServiceLoop
    @Test
    func `a cancelled watch can continue with a new descriptor, for the events that were set last`()
        async throws
    {
        let source = try Source()
        let other = try Source(isReady: false)
        other.end()
        await turns(50)
        let before = source.count
        source.watch?.cancel()
        source.watch?.cancel()
        await turns(50)
        #expect(before > 0 && source.count == before)
        source.watch?.change(to: .writable)
        try source.watch?.resume(on: other.descriptor)
        await turns(50)
        #expect(source.count > before)
        source.end()
    }

    /// If a suspended descriptor were removed from epoll, the kernel could refuse to add it again,
    /// for example at `fs.epoll.max_user_watches`.
    @ServiceLoop
    @Test
    func `a suspended watch stays registered, so that it can always continue`() async throws {
        let source = try Source()
        await turns(50)
        let before = source.count
        source.watch?.suspend(true)
        let error = #expect(throws: SocketError.self) {
            try DescriptorWatch(source.descriptor, .readable) { _ in }
        }
        #expect(error?.code == EEXIST)
        source.watch?.change(to: .readable)
        await turns(50)
        #expect(before > 0 && source.count == before)
        source.watch?.suspend(false)
        await turns(50)
        #expect(source.count > before)
    }

    @ServiceLoop
    @Test
    func `a hang-up while a watch is suspended is reported when the watch continues`() async throws
    {
        var pipes: [Int32] = [-1, -1]
        try #require(pipe(&pipes) == 0)
        var events: [DescriptorWatch.Events] = []
        var watch: DescriptorWatch?
        watch = try DescriptorWatch(pipes[0], .readable) {
            events.append($0)
            watch = nil
        }
        watch?.suspend(true)
        close(pipes[1])
        await turns(50)
        #expect(events.isEmpty)
        watch?.suspend(false)
        await turns(50)
        #expect(events == [.hangUp])
        close(pipes[0])
    }

    @ServiceLoop
    @Test
    func `a watch reports an edge once, and again after the watch was suspended`() async throws {
        let source = try Source([.readable, .edges])
        await turns(50)
        #expect(source.count == 1)
        source.ring()
        await turns(50)
        #expect(source.count == 2)
        source.watch?.suspend(true)
        source.watch?.suspend(false)
        await turns(50)
        #expect(source.count == 3)
    }

    @ServiceLoop
    @Test
    func `the loop serves ready descriptors in turn`() async throws {
        let sources = try (0..<Self.many).map { _ in try Source() }
        let done = Waiter()
        var total = 0
        for source in sources {
            source.action = { _ in
                total += 1
                if total == 20 * Self.many { done.resume(.ready) }
            }
        }
        #expect(await done.wait(until: nil) == .ready)
        for source in sources { source.end() }
        let counts = sources.map(\.count)
        let difference = (counts.max() ?? 0) - (counts.min() ?? 0)
        #expect(difference <= 1)
    }

    @ServiceLoop
    @Test
    func `descriptors that are always ready starve neither timers nor jobs`()
        async throws
    {
        let sources = try (0..<Self.many).map { _ in try Source() }
        try await Clocks.system.sleep(Clock.now + .milliseconds(5))
        let until = Clock.now
        while Clock.now < until + .milliseconds(5) {}
        let counted = sources[0].count
        try await Clocks.system.sleep(until)
        #expect(sources[0].count - counted < 1000)

        let called = Waiter()
        let wakeup = LoopWakeup { called.resume(.ready) }
        Task.detached { wakeup.ring() }
        #expect(await called.wait(until: nil) == .ready)
        for source in sources { source.end() }
    }

    @ServiceLoop
    private final class Silent: DatagramReceiving {
        func received(_ octets: Span<UInt8>) {}
        func failed(_ error: SocketError) {}
    }

    @ServiceLoop
    @Test
    func `descriptors that are always ready delay a datagram by only a few iterations`()
        async throws
    {
        let listener = try DatagramListener(
            binding: try #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        let socket = try DatagramSocket(connectedTo: listener.address, receiver: Silent())
        let sources = try (0..<2).map { _ in try Source() }
        let done = Waiter()
        sources[0].action = { source in
            guard source.count > 1 else {
                try? socket.send([1])
                return
            }
            var octet: UInt8 = 0
            if recv(listener.descriptor, &octet, 1, Int32(MSG_DONTWAIT)) == 1 {
                done.resume(.ready)
                source.end()
            }
        }
        #expect(await done.wait(until: nil) == .ready)
        sources[0].action = { _ in }
        #expect(sources[0].count <= 7)
        socket.close()
    }

    @ServiceLoop
    @Test
    func `watching a descriptor that is already watched, or closed, is an error`() throws {
        let source = try Source(isReady: false)
        let error = #expect(throws: SocketError.self) {
            try DescriptorWatch(source.descriptor, .readable) { _ in }
        }
        #expect(error?.code == EEXIST)
        #expect(throws: SocketError.self) { try DescriptorWatch(-1, .readable) { _ in } }
    }

    @Test
    func `a loop that is about to wait for events misses no wake-up`() async throws {
        let answered = DispatchSemaphore(value: 0)
        let wakeup = await Task { @ServiceLoop in LoopWakeup { answered.signal() } }.value
        let jobs = Task.detached { for _ in 0..<20_000 { await onLoop {} } }
        for _ in 0..<2 {
            try await WorkerThread.run(named: "rings") {
                for number in 0..<20_000 {
                    for _ in 0..<number % 200 { _ = Clock.now }
                    wakeup.ring()
                    answered.wait()
                }
            }
            await jobs.value
        }
    }
}
