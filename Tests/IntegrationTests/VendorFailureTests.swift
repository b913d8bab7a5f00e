// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Vendor failures", .needs(.dig, .nsd, .curl), .hangLimit)
struct VendorFailureTests {
    @Test("while a vendor is unreachable, the cache answers hits, and the upstream answers misses")
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

    @Test("while a vendor's replies are redirections, `status` reports a captive portal")
    func portal() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        try harness.emulator.misbehave("status=302")
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        _ = try daemon.program.line(with: "the network may have a captive portal")
        let blocked = try JSON(try daemon.control("status", "--json").output)
        #expect(blocked["network"]["portal"].bool == true)
        try harness.emulator.misbehave()
        #expect(try daemon.control("flush", "--all").status == 0)
        _ = try daemon.dig("two.example.com", "A")
        _ = try daemon.program.line(with: "no longer has a captive portal")
        try daemon.stop()
    }
}
