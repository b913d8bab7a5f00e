// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Vendor failures", .needs(.dig, .nsd, .curl), .hangLimit)
struct VendorFailureTests {
    @Test("an unreachable vendor is replaced by the cache, then by the upstream")
    func gone() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        try harness.emulator.program.stop()
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        #expect(try daemon.dig("www.example.com", "AAAA").data("AAAA") == ["2001:db8::1"])
        #expect(try daemon.control("flush", "--all").status == 0)
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        #expect(try daemon.control("status").status == 4)
        try daemon.stop()
    }

    @Test("the second server answers if the first is dead or silent", arguments: [true, false])
    func secondServer(isDead: Bool) throws {
        // The first socket refuses connections; the second never accepts any.
        let first = try Socket(.stream, bound: true)
        if !isDead { try first.listen() }
        let harness = try ProgramHarness(
            deadServers: ["127.0.0.1:\(first.port)"],
            vendor: "timeout: 500ms"
        )
        let reply = try harness.daemon.dig("www.example.com", "A")
        #expect(reply.data("A") == ["192.0.2.1", "192.0.2.2"], "\(reply.text)")
        #expect(try harness.emulator.lookups() == 1)
        try harness.daemon.stop()
    }

    @Test("a vendor is used again after its recovery")
    func back() throws {
        let harness = try ProgramHarness(vendor: "timeout: 500ms")
        try harness.emulator.misbehave("status=500")
        #expect(try harness.daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        try harness.emulator.misbehave()
        #expect(try harness.daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        #expect(try harness.daemon.control("status").status == 0)
        try harness.daemon.stop()
    }
}
