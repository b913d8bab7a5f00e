// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Vendor failures", .needs(.dig, .nsd, .curl), .hangLimit)
struct VendorFailureTests {
    @Test("an unreachable vendor is replaced by the cache, then by the upstream")
    func gone() throws {
        let stack = try ProgramHarness()
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

    @Test("the second server answers if the first one is dead or silent", arguments: [true, false])
    func secondServer(isDead: Bool) throws {
        // A socket that does not listen refuses connections. One that listens but never accepts is
        // silent.
        let first = try Socket(.stream, bound: true)
        if !isDead { try first.listen() }
        let stack = try ProgramHarness(
            deadServers: ["127.0.0.1:\(first.port)"],
            vendor: "timeout: 500ms"
        )
        let reply = try stack.daemon.dig("www.example.com", "A")
        #expect(reply.data("A") == ["192.0.2.1", "192.0.2.2"], "\(reply.text)")
        #expect(try stack.emulator.lookups() == 1)
        try stack.daemon.stop()
    }

    @Test("a vendor is used again after its recovery")
    func back() throws {
        let stack = try ProgramHarness(vendor: "timeout: 500ms")
        try stack.emulator.misbehave("status=500")
        #expect(try stack.daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        try stack.emulator.misbehave()
        #expect(try stack.daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try stack.daemon.control("status").status == 0)
        try stack.daemon.stop()
    }
}
