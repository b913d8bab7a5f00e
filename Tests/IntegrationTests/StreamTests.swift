// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("TCP pipelines", .needs(.nsd, .curl), .hangLimit)
struct StreamTests {
    @Test("20 queries for one name in a TCP segment get 20 answers and cost one vendor call")
    func pipeline() throws {
        let harness = try ProgramHarness()
        let client = try Socket(.stream, to: harness.daemon.port)
        let ids = Set<UInt16>(1...20)
        try client.sendFramed(
            ids.map { id in
                RawMessage.query("www.example.com", type: id % 2 == 0 ? 1 : 28, id: id)
            }
        )
        var answered = Set<UInt16>()
        for _ in ids {
            let reply = try client.receiveFramed()
            #expect(RawMessage.rcode(reply) == 0)
            #expect(RawMessage.answers(reply) == (RawMessage.id(reply) % 2 == 0 ? 2 : 1))
            answered.insert(RawMessage.id(reply))
        }
        #expect(answered == ids)
        #expect(try harness.emulator.lookups() == 1)
        try harness.daemon.stop()
    }

    @Test("a slow miss does not delay a later hit (RFC 7766 §6.2.1.1)")
    func overtaking() throws {
        let upstream = try Socket(.datagram, bound: true)
        let emulator = try TestEmulator(zone: ProgramHarness.zone)
        let scratch = try Scratch()
        let vendor = try VendorText(.aes, servers: [emulator.address], in: scratch)
        let daemon = try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback-after: off}]
            upstreams: [{name: slow, url: "udp://127.0.0.1:\(upstream.port)"}]
            """
        )
        let client = try Socket(.stream, to: daemon.port)
        try client.sendFramed([RawMessage.query("www.example.com", id: 1)])
        #expect(RawMessage.id(try client.receiveFramed()) == 1)
        try client.sendFramed([
            RawMessage.query("slow.example.org", id: 2), RawMessage.query("www.example.com", id: 3),
        ])
        #expect(RawMessage.id(try client.receiveFramed()) == 3)
        _ = try upstream.serveOne { query in RawMessage.denial(of: query) }
        let late = try client.receiveFramed()
        #expect(RawMessage.id(late) == 2 && RawMessage.rcode(late) == 3)
        try daemon.stop()
    }
}
