// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Net

private func loopback(_ text: String = "127.0.0.1:0") throws -> SocketAddress {
    try #require(SocketAddress(text))
}

@Suite("A datagram socket", .timeLimit(.minutes(15)))
struct DatagramSocketTests {
    private final class Peer {
        let descriptor: Int32
        let address: SocketAddress

        init(_ family: String = "127.0.0.1:0") throws {
            let any = try loopback(family)
            let descriptor = socket(
                any.isIPv6 ? AF_INET6 : AF_INET,
                Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue),
                0
            )
            self.descriptor = descriptor
            try #require(any.withSockaddr { bind(descriptor, $0, $1) } == 0)
            address = try #require(SocketAddress(localOf: descriptor))
        }

        @ServiceLoop
        func echo(to target: SocketAddress) {
            DatagramQueue.shared.flush()
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(descriptor, &buffer, buffer.count, 0)
            _ = target.withSockaddr { sendto(descriptor, buffer, count, 0, $0, $1) }
        }

        deinit { close(descriptor) }
    }

    @ServiceLoop
    @Test(arguments: ["127.0.0.1:0", "[::1]:0"])
    func `a datagram reaches the peer, and its answer is received`(family: String) async throws {
        let peer = try Peer(family)
        let socket = try DatagramClient(connectedTo: peer.address)
        let datagram = (0..<60_000).map { UInt8(truncatingIfNeeded: $0) }
        try socket.send(datagram)
        peer.echo(to: try #require(socket.localAddress))
        #expect(try await socket.receive(deadline: patience) == datagram)
    }

    @ServiceLoop
    @Test
    func `a datagram that arrives while a reader waits wakes the reader`() async throws {
        let peer = try Peer()
        let socket = try DatagramClient(connectedTo: peer.address)
        let answer = Task { @ServiceLoop in try await socket.receive(deadline: patience) }
        await Task.yield()
        try socket.send([])
        peer.echo(to: try #require(socket.localAddress))
        #expect(try await answer.value == [])
    }

    @ServiceLoop
    @Test
    func `a datagram to a closed port fails with a refused connection`() async throws {
        let closed = try Peer().address
        let socket = try DatagramClient(connectedTo: closed)
        try socket.send([1])
        let error = await #expect(throws: SocketError.self) {
            try await socket.receive(deadline: patience)
        }
        guard case .system(_, ECONNREFUSED) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @ServiceLoop
    @Test
    func `many datagrams arrive in order, and none after the socket is closed`() async throws {
        let peer = try Peer()
        let client = try DatagramClient(connectedTo: peer.address)
        let target = try #require(client.localAddress)
        for number in 0..<20 {
            try client.send([UInt8(number)])
            peer.echo(to: target)
        }
        for number in 0..<20 {
            #expect(try await client.receive(deadline: patience) == [UInt8(number)])
        }
        try client.send([20])
        peer.echo(to: target)
        client.close()
        #expect(throws: SocketError.closed) { try client.send([1]) }
        await #expect(throws: SocketError.timedOut) {
            try await client.receive(deadline: Clock.now + .milliseconds(5))
        }
    }

    @ServiceLoop
    private final class Reopening: DatagramReceiving {
        let socket = DatagramSocket()
        let peer: Peer
        private(set) var received: [UInt8] = []

        init() throws { peer = try Peer() }

        func open() throws { try socket.open(to: peer.address, for: self) }

        func received(_ octets: Span<UInt8>) {
            received.append(octets[0])
            socket.close()
            try? open()
        }

        func failed(_ error: SocketError) {}

        func receive(_ count: Int) async throws {
            while received.count < count {
                try await Clocks.system.sleep(Clock.now + .milliseconds(1))
            }
        }
    }

    @ServiceLoop
    @Test
    func `a socket that is opened again has a new port and loses earlier datagrams`() async throws {
        let reopening = try Reopening()
        try reopening.open()
        let first = try #require(reopening.socket.localAddress)
        for number in 1...2 {
            try reopening.socket.send([UInt8(number)])
            reopening.peer.echo(to: first)
        }
        try await reopening.receive(1)
        let second = try #require(reopening.socket.localAddress)
        #expect(second != first)
        try reopening.socket.send([3])
        reopening.peer.echo(to: second)
        try await reopening.receive(2)
        #expect(reopening.received == [1, 3])
        reopening.socket.close()
        #expect(!reopening.socket.isOpen)
    }

    @ServiceLoop
    @Test
    func `a thousand closed sockets leave no descriptor`() async throws {
        let peer = try Peer()
        func numbers() throws -> Set<Int32> {
            let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            return Set(
                all.compactMap { Int32($0) }.filter { descriptor in
                    var storage = sockaddr_storage()
                    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
                    let status = withUnsafeMutablePointer(to: &storage) {
                        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                            getpeername(descriptor, $0, &length)
                        }
                    }
                    return status == 0 && SocketAddress(storage) == peer.address
                }
            )
        }
        for _ in 0..<20 {
            let sockets = try (0..<50).map { _ in try DatagramClient(connectedTo: peer.address) }
            #expect(try numbers().count == sockets.count)
            for socket in sockets { socket.close() }
        }
        #expect(try numbers().isEmpty)
    }
}

@Suite("A stream", .timeLimit(.minutes(15)))
struct StreamTests {
    @ServiceLoop
    private func pair() async throws -> (StreamConnection, StreamConnection) {
        let listener = try StreamListener(binding: try loopback())
        let address = try #require(listener.localAddress)
        let client = try await StreamConnection.connect(to: address, deadline: patience)
        return (client, try await listener.accept())
    }

    @ServiceLoop
    @Test(arguments: ["127.0.0.1:0", "[::1]:0"])
    func `octets pass in both directions, and a read at the end of the stream is empty`(
        family: String
    ) async throws {
        let listener = try StreamListener(binding: try loopback(family))
        let address = try #require(listener.localAddress)
        let client = try await StreamConnection.connect(to: address, deadline: patience)
        let server = try await listener.accept()
        #expect(server.peerAddress == client.localAddress)
        #expect(client.peerAddress == address)

        try await client.write([1, 2, 3], deadline: patience)
        #expect(try await server.read(upTo: 2, deadline: patience) == [1, 2])
        #expect(try await server.read(upTo: 9, deadline: patience) == [3])
        try client.shutdownWrite()
        #expect(try await server.read(upTo: 9, deadline: patience) == [])
        try await server.write([4], deadline: patience)
        server.close()
        #expect(try await client.read(upTo: 9, deadline: patience) == [4])
        #expect(try await client.read(upTo: 9, deadline: patience) == [])
    }

    @ServiceLoop
    @Test
    func `an observer gets readable, writable and end events`() async throws {
        let (client, server) = try await pair()
        var buffer = [UInt8](repeating: 0, count: 8)
        #expect(try server.attemptRead(into: &buffer, from: 0, upTo: 8) == nil)
        var (isReadable, isWritable, hasEnded) = (false, false, false)
        server.observe {
            isReadable = isReadable || $0.isReadable
            isWritable = isWritable || $0.isWritable
            hasEnded = hasEnded || $0.hasEnded
        }

        try await client.write([1, 2, 3], deadline: patience)
        while !isReadable { await Task.yield() }
        #expect(!hasEnded)
        #expect(try server.attemptRead(into: &buffer, from: 2, upTo: 2) == 2)
        #expect(try server.attemptRead(into: &buffer, from: 5, upTo: 3) == 1)
        #expect(buffer == [0, 0, 1, 2, 0, 3, 0, 0])
        #expect(try server.attemptRead(into: &buffer, from: 0, upTo: 8) == nil)

        let much = [UInt8](repeating: 7, count: 1 << 20)
        var sent = 0
        while case let count = try server.attemptWrite(much, 0..<much.count), count > 0 {
            sent += count
        }
        isWritable = false
        while sent > 0 {
            sent -= try await client.read(upTo: 65_535, deadline: patience).count
        }
        while !isWritable { await Task.yield() }

        try client.shutdownWrite()
        while !hasEnded { await Task.yield() }
        #expect(try server.attemptRead(into: &buffer, from: 0, upTo: 8) == 0)
        server.close()
        #expect(throws: SocketError.self) { try server.attemptWrite(much, 0..<1) }
    }

    @ServiceLoop
    @Test
    func `one task writes more than the kernel buffers while another reads`() async throws {
        let (client, server) = try await pair()
        let whole = (0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let writer = Task { @ServiceLoop in
            try await client.write(whole, deadline: patience)
            try client.shutdownWrite()
        }
        let echo = Task { @ServiceLoop in
            while true {
                let octets = try await server.read(upTo: 65_535, deadline: patience)
                if octets.isEmpty { return try server.shutdownWrite() }
                try await server.write(octets, deadline: patience)
            }
        }
        var read: [UInt8] = []
        while true {
            let octets = try await client.read(upTo: 65_535, deadline: patience)
            if octets.isEmpty { break }
            read += octets
        }
        try await writer.value
        try await echo.value
        #expect(read == whole)
    }

    @ServiceLoop
    @Test
    func `a connection to a port without a listener is refused`() async throws {
        let closed = try ListeningSocket(listens: false)
        let error = await #expect(throws: SocketError.self) {
            _ = try await StreamConnection.connect(to: closed.address, deadline: patience)
        }
        guard case .system(_, ECONNREFUSED) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @ServiceLoop
    @Test
    func `a write to a closed connection is an error, not a signal`() async throws {
        let (client, server) = try await pair()
        server.close()
        await #expect(throws: SocketError.self) {
            while true { try await client.write([1], deadline: patience) }
        }
    }

    @ServiceLoop
    @Test
    func `a deadline, a cancellation or a close ends a read`() async throws {
        let (client, server) = try await pair()
        defer { server.close() }
        await #expect(throws: SocketError.timedOut) {
            try await client.read(upTo: 1, deadline: Clock.now + .milliseconds(5))
        }
        let cancelled = Task { @ServiceLoop in try await client.read(upTo: 1, deadline: nil) }
        await Task.yield()
        cancelled.cancel()
        await #expect(throws: SocketError.cancelled) { try await cancelled.value }

        let closed = Task { @ServiceLoop in try await client.read(upTo: 1, deadline: nil) }
        await Task.yield()
        client.close()
        await #expect(throws: SocketError.closed) { try await closed.value }
    }

    @ServiceLoop
    @Test
    func `closing a listener ends the wait for a connection`() async throws {
        let listener = try StreamListener(binding: try loopback())
        let waiting = Task { @ServiceLoop in _ = try await listener.accept() }
        await Task.yield()
        listener.close()
        await #expect(throws: SocketError.closed) { try await waiting.value }
    }

    @ServiceLoop
    @Test
    func `five hundred concurrent clients are all accepted`() async throws {
        let listener = try StreamListener(binding: try loopback())
        let address = try #require(listener.localAddress)
        let clients = (0..<500).map { _ in
            Task { @ServiceLoop in
                let client = try await StreamConnection.connect(to: address, deadline: patience)
                try await client.write([7], deadline: patience)
                return try await client.read(upTo: 1, deadline: patience)
            }
        }
        for _ in clients {
            let server = try await listener.accept()
            Task { @ServiceLoop in
                let octets = try await server.read(upTo: 1, deadline: patience)
                try await server.write(octets, deadline: patience)
            }
        }
        for client in clients { #expect(try await client.value == [7]) }
    }

    @ServiceLoop
    @Test
    func `many new clients do not block other work of the service loop`() async throws {
        final class Tally {
            var accepted: [StreamConnection] = []
            var seen: Int?
        }
        let listener = try StreamListener(binding: try loopback())
        let address = try #require(listener.localAddress)
        var clients: [StreamConnection] = []
        for _ in 0..<100 {
            clients.append(try await StreamConnection.connect(to: address, deadline: patience))
        }
        let tally = Tally()
        tally.accepted.append(try await listener.accept())
        Task { @ServiceLoop in tally.seen = tally.accepted.count }
        for _ in clients.dropFirst() { tally.accepted.append(try await listener.accept()) }
        #expect(try #require(tally.seen) <= StreamListener.row)
    }

    @ServiceLoop
    @Test
    func `an IPv6 listener leaves the port free for IPv4`() async throws {
        // Another program may use the same port over IPv4, so the test tries up to ten ports.
        for _ in 0..<10 {
            let six = try StreamListener(binding: try loopback("[::]:0"))
            let port = try #require(six.localAddress?.port)
            if (try? StreamListener(binding: try loopback("0.0.0.0:\(port)"))) != nil { return }
        }
        Issue.record("the IPv4 bind failed ten times")
    }

    @ServiceLoop
    @Test
    func `a listener can adopt a socket that already listens`() async throws {
        let socket = try ListeningSocket()
        let listener = try StreamListener(adopting: dup(socket.descriptor))
        #expect(listener.localAddress == socket.address)
        let client = try await StreamConnection.connect(to: socket.address, deadline: patience)
        #expect(try await listener.accept().peerAddress == client.localAddress)
    }

    @Test
    func `without free descriptors, a listener pauses, logs a warning, and resumes`() async throws {
        await #expect(processExitsWith: .success) {
            try await acceptWithoutDescriptors()
        }

    }

    @Test
    func `if the kernel cannot watch a new connection, a listener drops it, pauses, and resumes`()
        async throws
    {
        await #expect(processExitsWith: .success) { try await acceptWithoutWatches() }
    }
}

@ServiceLoop
private func acceptWithoutDescriptors() async throws {
    let listener = try StreamListener(binding: try loopback())
    let address = try #require(listener.localAddress)
    let client = try await StreamConnection.connect(to: address, deadline: patience)
    var taken: [Int32] = []
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = 64
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
    var said: [SocketError] = []
    listener.onPause = {
        said.append($0)
        for descriptor in taken { close(descriptor) }
        taken = []
    }
    let server = try await listener.accept()
    try #require(said == [.system(call: "accept", code: EMFILE)])
    try await client.write([1], deadline: patience)
    try #require(try await server.read(upTo: 1, deadline: patience) == [1])
}

@ServiceLoop
private func acceptWithoutWatches() async throws {
    let listener = try StreamListener(binding: try loopback())
    let address = try #require(listener.localAddress)
    let first = try await StreamConnection.connect(to: address, deadline: patience)
    let second = try await StreamConnection.connect(to: address, deadline: patience)
    // The kernel can also refuse a watch because of `fs.epoll.max_user_watches` (ENOSPC).
    let poller = LoopExecutor.shared.poller.descriptor
    let saved = dup(poller)
    dup2(0, poller)
    var said: [SocketError] = []
    listener.onPause = {
        said.append($0)
        dup2(saved, poller)
    }
    let server = try await listener.accept()
    try #require(said == [.system(call: "epoll_ctl", code: EINVAL)])
    try #require(try await first.read(upTo: 1, deadline: patience) == [])
    try await second.write([1], deadline: patience)
    try #require(try await server.read(upTo: 1, deadline: patience) == [1])
}
