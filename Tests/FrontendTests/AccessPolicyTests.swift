// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import TestWorld
import Testing

@testable import Frontend

@Suite("Access policy")
struct AccessPolicyTests {
    @Test("a new access policy applies to every query that is sent afterwards")
    @ServiceLoop
    func rules() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let listener = try DatagramListener(
            binding: #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        var handedOver = 0
        let misses = MissQueue(refresh: { _ in }) { miss in
            handedOver += 1
            harness.handler.answer(miss)
        }
        let everybody = AccessList([try #require(IPPrefix("127.0.0.0/8"))])
        let rules = AccessPolicy(.init(access: everybody))
        let worker = UDPWorker(listener, cache: harness.cache, rules: rules, queue: misses)
        let thread = try WorkerThread(named: "worker") { worker.run() }
        let client = try DatagramClient(connectedTo: listener.address)
        func rcode() async throws -> RCode {
            try client.send(query("www.example.com"))
            return try Message(parsing: await client.receive(deadline: Clock.now + .seconds(300)))
                .rcode
        }
        for _ in 0..<50 {
            rules.issue(.init(access: everybody))
            #expect(try await rcode() == .noError)
            rules.issue(.init(access: AccessList([])))
            #expect(try await rcode() == .refused)
        }
        #expect(handedOver == 0)
        worker.stop()
        thread.join()
        client.close()
    }
}
