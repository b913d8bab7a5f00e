// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Status", .needs(.dig, .nsd), .hangLimit)
struct StatusTests {
    @Test("`status` shows an upstream as down if it has failed and has never answered")
    func neverAnswered() throws {
        let upstream = try TestUpstream()
        let daemon = try TestDaemon(upstream.text)
        let before = try daemon.control("status")
        #expect(before.status == 0 && before.output.contains("READY"))
        #expect(try daemon.dig("www.example.net", "A").status == "SERVFAIL")
        let failed = try daemon.control("status")
        #expect(failed.status == 4 && failed.output.contains("DEGRADED"), "\(failed.output)")
        #expect(failed.output.contains("upstream nsd: returned REFUSED"), "\(failed.output)")
        let unanswered = try daemon.control("explain", "one.example.org").output
        #expect(unanswered.contains("no answer so far (returned REFUSED"), "\(unanswered)")
        #expect(try daemon.dig("one.example.org", "A").status == "NOERROR")
        let after = try daemon.control("status")
        #expect(after.status == 0 && after.output.contains("READY"), "\(after.output)")
        let answered = try daemon.control("explain", "two.example.org").output
        #expect(answered.contains(" (unprotected): up\n"), "\(answered)")
        try daemon.stop()
    }

    @Test("`status` shows a failed reload as a problem until a reload succeeds")
    func reload() throws {
        let upstream = try TestUpstream()
        let daemon = try TestDaemon(upstream.text)
        try daemon.rewrite(upstream.text + "\ncahce: {}")
        #expect(try daemon.control("reload").status == 1)
        let failed = try daemon.control("status")
        #expect(failed.status == 4, "\(failed.output)")
        #expect(failed.output.contains("the last reload failed (the old configuration is in"))
        #expect(failed.output.contains("unknown key `cahce`"))
        try daemon.rewrite(upstream.text)
        #expect(try daemon.control("reload").status == 0)
        #expect(try daemon.control("status").status == 0)
        try daemon.stop()
    }
}
