// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestWorld
import Testing

@testable import Net

@Suite("Batches of datagrams", .timeLimit(.minutes(15)))
struct DatagramQueueTests {
    @ServiceLoop
    private final class Pair: DatagramReceiving {
        let listener: DatagramListener
        private(set) var socket: DatagramSocket?
        private(set) var failure: SocketError?
        var afterFailure: () -> Void = {}

        init() throws {
            let any = try #require(SocketAddress("127.0.0.1:0"))
            listener = try DatagramListener(binding: any, shared: false)
            socket = try DatagramSocket(connectedTo: listener.address, receiver: self)
        }

        func send(_ octets: [UInt8]) throws { try #require(socket).send(octets) }

        func close() { socket?.close() }

        func arrived() -> [[UInt8]] {
            var batch = DatagramBatch(for: listener)
            var all: [[UInt8]] = []
            while true {
                let count = batch.receive(from: listener, waits: false)
                guard count > 0 else { return all }
                all += (0..<count).map { batch.copy($0).octets }
            }
        }

        func received(_ octets: Span<UInt8>) {}

        func failed(_ error: SocketError) {
            failure = error
            socket?.close()
            afterFailure()
        }
    }

    @ServiceLoop
    @Test
    func `datagrams of several sockets keep their order and are sent before the loop waits`()
        async throws
    {
        let pairs = try [Pair(), Pair()]
        for number in 0..<100 { try pairs[number % 2].send([UInt8(number)]) }
        // On a busy machine, the first timer can be due before the loop has sent the datagrams.
        var arrived: [[[UInt8]]] = [[], []]
        while arrived.contains(where: { $0.count < 50 }) {
            try await Clocks.system.sleep(Clock.now + .milliseconds(1))
            for index in 0...1 { arrived[index] += pairs[index].arrived() }
        }
        #expect(arrived[0] == (0..<50).map { [UInt8(2 * $0)] })
        #expect(arrived[1] == (0..<50).map { [UInt8(2 * $0 + 1)] })
    }

    @ServiceLoop
    @Test
    func `the longest datagrams fill the queue, and none is lost`() throws {
        let pair = try Pair()
        let long = [UInt8](repeating: 7, count: 60_000)
        for _ in 0..<3 { try pair.send(long) }
        DatagramQueue.shared.flush()
        #expect(pair.arrived().map(\.count) == [4096, 4096, 4096])
    }

    @ServiceLoop
    @Test
    func `the datagrams of a closed socket are dropped, and others are sent`() throws {
        let (closed, open) = (try Pair(), try Pair())
        try closed.send([1])
        try open.send([2])
        closed.close()
        DatagramQueue.shared.flush()
        #expect(closed.arrived().isEmpty)
        #expect(open.arrived() == [[2]])
    }

    @ServiceLoop
    @Test
    func `a send error affects only the socket of the datagram`() throws {
        let (broken, open) = (try Pair(), try Pair())
        // Too long for UDP over IPv4: EMSGSIZE.
        try broken.send([UInt8](repeating: 0, count: 65_530))
        try open.send([1])
        DatagramQueue.shared.flush()
        #expect(broken.failure == .system(call: "send", code: EMSGSIZE))
        #expect(open.arrived() == [[1]])
    }

    @ServiceLoop
    @Test
    func `a failure handler may queue more datagrams than the queue has slots`() throws {
        let open = try Pair()
        let broken = try (0..<40).map { _ in try Pair() }
        for pair in broken {
            pair.afterFailure = { for _ in 0..<3 { try? open.send([2]) } }
        }
        for pair in broken { try pair.send([UInt8](repeating: 0, count: 65_530)) }
        for _ in 0..<100 { try open.send([1]) }
        for _ in 0..<2 { DatagramQueue.shared.flush() }
        #expect(broken.allSatisfy { $0.failure != nil })
        #expect(open.arrived().count == 100 + 3 * broken.count)
    }

    @ServiceLoop
    @Test
    func `the source address of a reply is the address that the client queried`() throws {
        let pair = try Pair()
        try pair.send([1])
        DatagramQueue.shared.flush()
        var batch = DatagramBatch(for: pair.listener)
        try #require(batch.receive(from: pair.listener) == 1)
        let query = batch.copy(0)
        for number in 0..<70 { pair.listener.reply([UInt8(number)], to: query) }
        DatagramQueue.shared.flush()
        let raw = try #require(try pair.socket?.raw)
        var buffer: [UInt8] = [0, 0]
        for number in 0..<70 {
            #expect(recv(raw, &buffer, buffer.count, 0) == 1)
            #expect(buffer[0] == UInt8(number))
        }
    }
}
