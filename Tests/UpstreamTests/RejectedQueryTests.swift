// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Glibc
import TestWorld
import Testing

@testable import Net
@testable import Upstream

@Suite("ICMP errors for the queries of a shared UDP socket", .timeLimit(.minutes(5)))
struct RejectedQueryTests {
    /// UDP server; while its socket is closed, the kernel rejects queries with ICMP errors.
    private final class ClosableServer {
        private var descriptor: Int32 = -1
        private(set) var address: SocketAddress

        init() throws {
            address = try #require(SocketAddress("127.0.0.1:0"))
            try open()
        }

        func open() throws {
            let descriptor = socket(
                AF_INET,
                Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue),
                0
            )
            self.descriptor = descriptor
            try #require(address.withSockaddr { bind(descriptor, $0, $1) } == 0)
            address = try #require(SocketAddress(localOf: descriptor))
        }

        func close() {
            Glibc.close(descriptor)
            descriptor = -1
        }

        func receive() -> (query: [UInt8], client: sockaddr_in) {
            var (buffer, client) = ([UInt8](repeating: 0, count: 4_096), sockaddr_in())
            var size = socklen_t(MemoryLayout.size(ofValue: client))
            let count = withUnsafeMutablePointer(to: &client) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    recvfrom(descriptor, &buffer, buffer.count, 0, $0, &size)
                }
            }
            return (Array(buffer.prefix(max(0, count))), client)
        }

        func answer(_ received: (query: [UInt8], client: sockaddr_in)) {
            let octets = reply(to: received.query)
            var client = received.client
            let size = socklen_t(MemoryLayout.size(ofValue: client))
            _ = withUnsafePointer(to: &client) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor, octets, octets.count, 0, $0, size)
                }
            }
        }

        deinit { if descriptor >= 0 { close() } }
    }

    @ServiceLoop
    private static func ask(
        _ upstream: Forwarder,
        _ count: Int = 1,
        within time: Duration = .seconds(60)
    ) async -> [Task<Bool, Never>] {
        let tasks = (0..<count).map { _ in
            Task { @ServiceLoop in
                let query = Query(question: Question(name: "www.example.com", type: .a))
                return (try? await upstream.exchange(query, deadline: Clock.now + time)) != nil
            }
        }
        for _ in 1...20 { await Task.yield() }
        DatagramQueue.shared.flush()
        return tasks
    }

    @Test("an error for one query ends no other query while the server answers")
    @ServiceLoop
    func sharedSocket() async throws {
        let server = try ClosableServer()
        let upstream = Forwarder(
            name: "it",
            url: "udp://\(server.address)",
            timeout: .seconds(60),
            over: PlainTransport(to: server.address)
        )
        let first = await Self.ask(upstream)
        server.answer(server.receive())
        #expect(await first[0].value)

        let held = await Self.ask(upstream, 2)
        let queries = [server.receive(), server.receive()]
        try #require(queries[0].client.sin_port == queries[1].client.sin_port)
        server.close()
        var rejected: [Task<Bool, Never>] = []
        for _ in 0..<64 { rejected += await Self.ask(upstream, within: .seconds(1)) }
        for task in rejected { #expect(await !task.value) }
        try server.open()
        for query in queries { server.answer(query) }
        for task in held { #expect(await task.value) }
    }
}
