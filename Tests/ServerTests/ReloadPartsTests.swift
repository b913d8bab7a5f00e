// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Logging
import Net
import TestWorld
import Testing

@testable import Server

@Suite("Parts of a reload")
struct ReloadPartsTests {
    init() { ServiceLoop.start() }

    /// An event that the test triggers.
    @ServiceLoop
    private final class Work {
        private(set) var begun = 0
        private var open: CheckedContinuation<Int, Never>?

        func run() async -> Int {
            begun += 1
            return await withCheckedContinuation { open = $0 }
        }

        func end() {
            open?.resume(returning: begun)
            open = nil
        }
    }

    @Test("requests during a reload share the next reload")
    @ServiceLoop
    func turns() async {
        let queue = CoalescingQueue<Int>()
        let work = Work()
        func ask() -> Task<Int, Never> {
            ServiceLoop.task { await queue.turn { await work.run() } }
        }
        let first = ask()
        while work.begun < 1 { await Task.yield() }
        let others = [ask(), ask(), ask()]
        for _ in 0..<20 { await Task.yield() }
        #expect(work.begun == 1)
        work.end()
        #expect(await first.value == 1)
        while work.begun < 2 { await Task.yield() }
        work.end()
        for other in others { #expect(await other.value == 2) }
        let last = ask()
        while work.begun < 3 { await Task.yield() }
        work.end()
        #expect(await last.value == 3)
    }

    @Test("a worker applies an access policy that was set before the query arrived")
    @ServiceLoop
    func rules() async throws {
        let harness = ListenerHarness()
        try harness.store("www.example.com")
        let listener = try DatagramListener(
            binding: #require(SocketAddress("127.0.0.1:0")),
            shared: false
        )
        var handedOver = 0
        let misses = try MissQueue(refresh: { _ in }) { miss in
            handedOver += 1
            if case .reply(let reply) = harness.desk.look(
                at: miss.datagram.octets,
                from: miss.asker,
                arrival: miss.arrival
            ) {
                _ = miss.listener.send(reply, inReplyTo: miss.datagram)
            }
        }
        let everybody = AccessList([try #require(IPPrefix("127.0.0.0/8"))])
        let rules = AccessPolicy(.init(access: everybody))
        let worker = UDPWorker(listener, cache: harness.cache, rules: rules, desk: misses)
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

    @Test("a route is identified by its first domain")
    func routes() {
        func names(_ routes: (Int, String)...) -> RouteNames {
            RouteNames(
                routes.map { line, domain in
                    var route = RouteSettings(
                        place: SettingsPlace(file: "f", line: line, column: 1)
                    )
                    route.domains = [DomainPattern(literal: domain)]
                    return route
                }
            )
        }
        let old = names((3, "a.example"), (5, "b.example"), (7, "c.example"))
        #expect(old.changes(to: old) == [:])
        let new = names((3, "new.example"), (5, "a.example"), (7, "c.example"))
        #expect(old.changes(to: new) == ["f:3": "f:5", "f:5": "f:5, removed"])
    }
}
