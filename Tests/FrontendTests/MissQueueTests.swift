// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Glibc
import Resolver
import Synchronization
import Testing

@testable import Frontend
@testable import Net

@Suite("The queue of misses", .timeLimit(.minutes(15)))
@ServiceLoop
struct MissQueueTests {
    private final class Handled {
        var names: [String] = []
    }

    private let listener: DatagramListener
    private let handled = Handled()
    private let queue: MissQueue

    init() throws {
        listener = try DatagramListener(
            binding: try #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        queue = MissQueue(refresh: { _ in }) { [handled] miss in
            handled.names.append("\(miss.clientContext.address) \(miss.datagram.octets[0])")
        }
    }

    private func miss(_ client: String, _ number: UInt8, octets: Int = 40) throws -> Miss {
        Miss(
            datagram: ReceivedDatagram(
                octets: [number] + Array(repeating: 0, count: octets - 1),
                client: sockaddr_storage(),
                clientCount: 0,
                control: []
            ),
            listener: listener,
            clientContext: ClientContext(
                transport: .udp,
                address: try #require(IPAddress(client)),
                isAllowed: true
            ),
            arrival: Clock.now
        )
    }

    private func misses(_ client: String, _ count: Int, octets: Int = 40) throws -> [Miss] {
        Array(repeating: try miss(client, 1, octets: octets), count: count)
    }

    @Test
    func `clients take turns, and each client's misses keep their order`() throws {
        queue.take(try (1...3).map { try miss("192.0.2.1", $0) })
        queue.take([try miss("192.0.2.2", 1), try miss("192.0.2.1", 4)])
        queue.handleAll()
        #expect(
            handled.names == [
                "192.0.2.1 1", "192.0.2.1 2", "192.0.2.1 3", "192.0.2.1 4", "192.0.2.2 1",
            ]
        )
        queue.take(try misses("192.0.2.1", 20))
        queue.take([try miss("192.0.2.2", 2)])
        queue.handleAll()
        #expect(handled.names.dropFirst(5).firstIndex(of: "192.0.2.2 2") == 5 + 16)
    }

    @Test
    func `a flood from forged addresses does not delay or drop misses of this machine`() throws {
        for number in 0..<20_000 {
            queue.take([try miss("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)", 1)])
        }
        let lost = queue.dropped.load(ordering: .relaxed)
        #expect(lost > 0)
        queue.take(try misses("127.0.0.1", 100))
        #expect(queue.dropped.load(ordering: .relaxed) == lost)
        queue.handleAll()
        #expect(handled.names.prefix(200).count { $0 == "127.0.0.1 1" } == 100)
    }

    @Test(arguments: [40, 1_232])
    func `a client that fills its part of the queue leaves space for others`(
        _ octets: Int
    ) throws {
        queue.take(try misses("192.0.2.1", 20_000, octets: octets))
        let lost = queue.dropped.load(ordering: .relaxed)
        #expect(lost >= 10_000)
        queue.take(try misses("192.0.2.2", 100, octets: octets))
        queue.take(try misses("192.0.2.3", 100, octets: octets))
        #expect(queue.dropped.load(ordering: .relaxed) == lost)
        queue.handleAll()
        #expect(handled.names.prefix(340).count { $0 == "192.0.2.3 1" } == 100)
        #expect(UInt64(handled.names.count) == 20_200 - lost)
    }

    @Test
    func `all loopback addresses of this machine count as one client`() throws {
        for number in 1...100 { queue.take(try misses("127.0.0.\(number)", 200)) }
        queue.take(try misses("::1", 100))
        queue.take(try misses("::ffff:127.9.9.9", 100))
        let lost = queue.dropped.load(ordering: .relaxed)
        #expect(lost >= 11_000)
        queue.take([try miss("192.0.2.1", 1)])
        #expect(queue.dropped.load(ordering: .relaxed) == lost)
    }

    @Test
    func `one iteration of the service loop starts a limited number of refreshes`() throws {
        var refreshed = 0
        let queue = MissQueue(refresh: { _ in refreshed += 1 }) { _ in }
        let query = Query(question: Question(name: try Name("www.example.com"), type: .a))
        let client = ClientNetwork(of: .v4(IPv4Address(value: 0x7F00_0001)), isProven: true)
        for _ in 0..<200 { queue.take(refresh: query, of: client) }
        var turns: [Int] = []
        repeat { turns.append(refreshed) } while queue.handleRow()
        #expect(turns + [refreshed] == [0, 64, 128, 192, 200])
    }

    @Test
    func `a health check query is handled before the queries in a full queue`() throws {
        for number in 1...200 { queue.take(try misses("192.0.2.\(number)", 1_000)) }
        queue.take([], own: [try miss("127.0.0.1", 7)])
        queue.handleAll()
        #expect(handled.names.first == "127.0.0.1 7")
    }
}
