// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import Testing

@testable import Frontend

@Suite("Many messages in one TCP segment (RFC 7766 §6.2.1.1)", .timeLimit(.minutes(15)))
struct ListeningStreamTests {
    private static let patience: Duration = .seconds(300)

    @ServiceLoop
    private static func replies(
        to octets: [UInt8],
        at harness: ListenerHarness
    ) async throws -> [UInt16: Message] {
        let (server, client) = try await ListeningSessionTests.connect(harness)
        defer { server.stop() }
        let writer = Task { @ServiceLoop in
            try await client.write(octets, deadline: Clock.now + patience)
            try client.shutdownWrite()
        }
        let messages = try await ListeningSessionTests.read(from: client)
        try await writer.value
        #expect(Set(messages.map(\.header.id)).count == messages.count)
        return Dictionary(messages.map { ($0.header.id, $0) }) { first, _ in first }
    }

    @Test
    @ServiceLoop
    func `hits, misses and invalid queries in one segment each get one reply`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com", addresses: 3)
        var octets: [UInt8] = []
        for id in UInt16(0)..<200 {
            octets += framed(
                try query(id % 3 == 0 ? "n\(id).example.com" : "www.example.com", id: id) {
                    if id % 5 == 0 { $0.questions[0].recordClass = .ch }
                    if id % 7 == 0 { $0.header.isResponse = true }
                }
            )
        }
        let replies = try await Self.replies(to: octets, at: harness)
        for id in UInt16(0)..<200 {
            let reply = replies[id]
            if id % 7 == 0 {
                #expect(reply == nil)
            } else if id % 5 == 0 {
                #expect(reply?.rcode == .refused)
            } else {
                #expect(reply?.answers.count == (id % 3 == 0 ? 1 : 3))
            }
        }
        let ids = (0..<200).filter { $0 % 7 != 0 }
        #expect(harness.counted.total == UInt64(ids.count))
        #expect(harness.counted.ignored == UInt64(200 - ids.count))
        let hits = ids.count { $0 % 5 != 0 && $0 % 3 != 0 }
        #expect(harness.counted.bySource["cache"] == UInt64(hits))
    }

    @Test
    @ServiceLoop
    func `a TCP segment may end at any octet of a message`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let (server, client) = try await ListeningSessionTests.connect(harness)
        defer { server.stop() }
        let whole = try (1...3).flatMap { try framed(query("www.example.com", id: $0)) }
        for cut in 1..<whole.count {
            for part in [whole[..<cut], whole[cut...]] {
                try await client.write(Array(part), deadline: Clock.now + Self.patience)
                await Task.yield()
            }
            let replies = try await ListeningSessionTests.read(3, from: client)
            #expect(replies.map(\.header.id) == [1, 2, 3])
        }
        client.close()
    }

    @Test
    @ServiceLoop
    func `a message of maximum length and the next message are read`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let long = try query("www.example.com", id: 1)
        let octets =
            framed(long + [UInt8](repeating: 0, count: 65_535 - long.count))
            + framed(try query("www.example.com", id: 2))
        let replies = try await Self.replies(to: octets, at: harness)
        #expect(replies[1]?.rcode == .formErr)
        #expect(replies[2]?.answers.count == 1)
        #expect(replies.count == 2)
    }

    @Test(arguments: [(100, 400), (24, 4_000)])
    @ServiceLoop
    func `any number of long answers is sent completely`(
        count: UInt16,
        addresses: Int
    ) async throws {
        let harness = ListenerHarness()
        try harness.store("big.example.com", addresses: addresses)
        var octets: [UInt8] = []
        for id in 0..<count {
            octets += framed(try query("big.example.com", id: id))
        }
        let replies = try await Self.replies(to: octets, at: harness)
        #expect(replies.count == Int(count))
        #expect(replies.values.allSatisfy { $0.answers.count == addresses })
    }

    @Test
    @ServiceLoop
    func `a client that sends far more than one read returns gets all answers`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        var octets: [UInt8] = []
        let count = UInt16(6_000)
        for id in 0..<count {
            octets += framed(try query("www.example.com", id: id))
        }
        #expect(octets.count > TCPLimits.readOctets * TCPLimits.reads * 2)
        #expect(try await Self.replies(to: octets, at: harness).count == Int(count))
    }
}
