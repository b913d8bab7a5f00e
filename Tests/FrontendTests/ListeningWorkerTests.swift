// SPDX-License-Identifier: Apache-2.0
import Control
import DNSCache
import DNSWire
import Net
import Resolver
import TestWorld
import Testing

@testable import Frontend

@Suite("A worker with real sockets", .timeLimit(.minutes(15)))
struct ListeningWorkerTests {
    @Test
    @ServiceLoop
    func `the worker answers hits, hands over misses and ignores replies`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com", addresses: 2)
        try harness.store("big.example.com", addresses: 100)
        let listener = try DatagramListener(
            binding: #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        let misses = MissQueue(refresh: { _ in }) { harness.handler.answer($0) }
        let worker = UDPWorker(
            listener,
            cache: harness.cache,
            rules: AccessPolicy(
                .init(access: AccessList([try #require(IPPrefix("127.0.0.1/32"))]))
            ),
            queue: misses
        )
        let thread = try WorkerThread(named: "worker") { worker.run() }
        let client = try DatagramClient(connectedTo: listener.address)

        func ask(_ octets: [UInt8]) async throws -> Message {
            try client.send(octets)
            return try Message(parsing: await client.receive(deadline: Clock.now + .seconds(300)))
        }
        let hit = try await ask(query("WWW.example.com", id: 1))
        #expect(hit.answers.count == 2)
        #expect(hit.questions[0].name.octets == (try Name("WWW.example.com")).octets)
        let cut = try await ask(query("big.example.com", id: 2))
        #expect(cut.header.isTruncated)
        let miss = try await ask(query("other.example.com", id: 3))
        #expect(miss.answers.count == 1)
        #expect(miss.header.id == 3)
        let notImp = try await ask(
            query("x.example.com") { $0.header.opcode = 5 }
        )
        #expect(notImp.rcode == .notImp)
        let second = try await ask(query("other.example.com", id: 4))
        #expect(second.header.id == 4)
        try client.send(query("www.example.com", id: 5) { $0.header.isResponse = true })
        try client.send([])
        let last = try await ask(query("www.example.com", id: 6))
        #expect(last.header.id == 6)

        // The shutdown of the socket by `stop` looks like an empty datagram, which the worker
        // counts as ignored.
        var sums = QuerySums()
        worker.counters.add(to: &sums)
        worker.stop()
        thread.join()
        #expect(sums.bySource["cache"] == 4)
        #expect(sums.bySource["invalid"] == 1)
        #expect(sums.total == 5)
        #expect(sums.ignored == 2)
        #expect(sums.truncated == 1)
        #expect(sums.unsent == 0)
        let words = RecentReader.all(of: [worker.recent]).words
        let records = stride(from: 0, to: words.count, by: RecordRing.wordCount)
            .compactMap { start in
                let slice = words[start..<start + RecordRing.wordCount]
                return QueryRecord(slice).map { (record: $0, name: "\($0.name(slice))") }
            }
            .sorted { $0.record.arrival < $1.record.arrival }
        #expect(
            records.map(\.name) == [
                "WWW.example.com.", "big.example.com.", "other.example.com.", "www.example.com.",
            ]
        )
        let client4 = try #require(IPAddress("127.0.0.1"))
        #expect(records.allSatisfy { $0.record.client.unmapped == client4 })
        #expect(records.allSatisfy { $0.record.source == .cache })
        #expect(records.map(\.record.flags) == [[], .truncated, [], []])
        #expect(harness.counted.bySource["upstream"] == 1)
        client.close()
    }

    @Test
    @ServiceLoop
    func `a client without access is refused by the worker`() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let listener = try DatagramListener(
            binding: #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        let misses = MissQueue(refresh: { _ in }) { _ in Issue.record("handed over") }
        let worker = UDPWorker(
            listener,
            cache: harness.cache,
            rules: AccessPolicy(.init(access: AccessList([]))),
            queue: misses
        )
        let thread = try WorkerThread(named: "worker") { worker.run() }
        let client = try DatagramClient(connectedTo: listener.address)
        try client.send(query("www.example.com", id: 8))
        let reply = try Message(parsing: await client.receive(deadline: Clock.now + .seconds(300)))
        #expect(reply.rcode == .refused)
        #expect(reply.header.id == 8)
        worker.stop()
        thread.join()
        client.close()
    }
}
