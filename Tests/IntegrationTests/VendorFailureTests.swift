// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("The vendor stops", .needs(.dig, .nsd, .curl), .hangLimit)
struct VendorFailureTests {
    @Test("an empty answer is the upstream's to give, and no failure")
    func empty() throws {
        let stack = try Stack(faults: ["empty"])
        #expect(
            try stack.daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"]
        )
        #expect(
            try stack.daemon.dig("www.example.com", "AAAA").data("AAAA") == ["2001:db8:99::1"]
        )
        let stats = try stack.daemon.stats()
        let vendor = try #require(stats["vendors"].array.first)
        #expect(vendor["empty"].int == 1 && vendor["failures"].sum == 0)
        #expect(try stack.daemon.control("status").status == 0)
        try stack.daemon.stop()
    }

    @Test("a vendor that is gone is replaced by the cache, then by the upstream")
    func gone() throws {
        let stack = try Stack()
        let daemon = stack.daemon
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        try stack.emulator.program.stop()
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        #expect(try daemon.dig("www.example.com", "AAAA").data("AAAA") == ["2001:db8::1"])
        #expect(try daemon.control("flush", "--all").status == 0)
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        #expect(try daemon.control("status").status == 4)
        try daemon.stop()
    }

    @Test("with `fallback: none` a failure is SERVFAIL and an empty answer NODATA")
    func noFallback() throws {
        let stack = try Stack(
            faults: ["status=500:name:www.example.com"],
            route: "fallback: none",
            vendor: "timeout: 500ms"
        )
        let failed = try stack.daemon.dig("www.example.com", "A")
        #expect(failed.status == "SERVFAIL" && failed.text.contains("EDE: 22"), "\(failed.text)")
        let empty = try stack.daemon.dig("none.example.com", "A")
        #expect(empty.status == "NOERROR" && empty.answers.isEmpty)
        #expect(empty.authorities.map(\.type) == ["SOA"])
        #expect(try stack.daemon.dig("www.example.com", "TXT").status == "NOERROR")
        try stack.daemon.stop()
    }

    @Test("with every server and upstream silent the client gets SERVFAIL within 5 s")
    func nobody() throws {
        let upstream = try Socket(.datagram, bound: true)
        let emulator = try TestEmulator(zone: Stack.zone, faults: ["silent"])
        let scratch = try Scratch()
        let vendor = try VendorText(.aes, servers: [emulator.address], in: scratch)
        let daemon = try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent]}]
            upstreams: [{name: silent, url: "udp://127.0.0.1:\(upstream.port)"}]
            """
        )
        // As long as stub resolvers wait (resolv.conf(5)): it is dig's own clock that counts.
        let reply = try daemon.dig("www.example.com", "A", "+time=5")
        #expect(reply.status == "SERVFAIL", "\(reply.text)")
        try daemon.stop()
    }

    @Test("the second server answers when the first is dead or silent", arguments: [true, false])
    func secondServer(isDead: Bool) throws {
        // Nobody listens on a port that is bound only; on the other one nobody ever accepts.
        let first = try Socket(.stream, bound: true)
        if !isDead { try first.listen() }
        let stack = try Stack(deadServers: ["127.0.0.1:\(first.port)"], vendor: "timeout: 500ms")
        let reply = try stack.daemon.dig("www.example.com", "A")
        #expect(reply.data("A") == ["192.0.2.1", "192.0.2.2"], "\(reply.text)")
        #expect(try stack.emulator.lookups() == 1)
        try stack.daemon.stop()
    }

    @Test("a vendor that comes back is asked again")
    func back() throws {
        let stack = try Stack(vendor: "timeout: 500ms")
        try stack.emulator.misbehave("status=500")
        #expect(try stack.daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        try stack.emulator.misbehave()
        #expect(try stack.daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try stack.daemon.control("status").status == 0)
        try stack.daemon.stop()
    }
}
