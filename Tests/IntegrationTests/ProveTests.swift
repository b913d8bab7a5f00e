// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("httpdnsctl prove", .needs(.dig, .nsd, .curl), .hangLimit)
struct ProveTests {
    private func daemon(
        _ emulator: TestEmulator,
        _ scratch: Scratch,
        _ more: String = ""
    ) throws -> TestDaemon {
        let secret = try scratch.write(
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            to: "secret",
            mode: 0o600
        )
        let key = try scratch.write("000102030405060708090a0b0c0d0e0f", to: "key", mode: 0o600)
        return try TestDaemon(
            """
            vendors:
              ali:
                kind: alibaba
                account: "100000"
                secret: {file: \(secret)}
                aes-key: {file: \(key)}
                scheme: http
                encryption: gcm
                servers: ["\(emulator.address)"]
                \(more)
            routes: [{domains: [www.example.com], vendors: [ali], fallback: none}]
            """
        )
    }

    @Test("prove prints the cost first, and each reply of the emulator meets the expectation")
    func agrees() throws {
        let (emulator, scratch) = (try TestEmulator(zone: ProgramHarness.zone), try Scratch())
        let daemon = try daemon(emulator, scratch)
        let end = try daemon.control("prove", "ali")
        #expect(end.errors.hasPrefix("ali: "), "\(end)")
        #expect(end.errors.contains("at most 40 units"), "\(end.errors)")
        for label in [
            "families: A and AAAA", "unknown name", "batch of two names", "client-subnet",
            "signature with another key", "expired signature", "channel v2 cbc http",
        ] { #expect(end.output.contains("agrees   \(label)"), "\(end.output)") }
        // The emulator has no TLS, so prove cannot connect to port 443 and skips this channel.
        #expect(end.output.contains("skipped  channel v2 https https"), "\(end.output)")
        #expect(end.output.contains("not tested (cannot connect"), "\(end.output)")
        #expect(!end.output.contains("DIFFERS"), "\(end.output)")
        #expect(end.status == 0)
        #expect(!end.output.contains("100000") && !end.output.contains("0001020304"))
        let costs = try daemon.control("top", "cost").output
        #expect(costs.contains("httpdnsctl prove"), "\(costs)")
        try daemon.stop()
    }

    @Test("the usage and the budget include the calls of prove, which stay within --max-units")
    func limited() throws {
        let (emulator, scratch) = (try TestEmulator(zone: ProgramHarness.zone), try Scratch())
        let daemon = try daemon(emulator, scratch)
        let report = try JSON(daemon.control("prove", "ali", "--max-units", "10", "--json").output)
        let steps = report["steps"].array
        #expect(steps.contains { $0["verdict"].string == "skipped" })
        let spent = steps.reduce(0) { $0 + ($1["units"].int ?? 0) }
        #expect((1...10).contains(spent))
        #expect(report["units"].int == 10)
        let billed = try JSON(emulator.admin("bill"))["units"].int
        #expect(billed == spent)
        let vendor = try #require(try daemon.stats()["vendors"].array.first)
        #expect(vendor["units", "at-most"].int == spent && vendor["units", "today"].int == spent)
        try daemon.stop()

        let poor = try self.daemon(emulator, scratch, "budget: {units-per-day: 4}")
        let end = try poor.control("prove", "ali", "--json")
        #expect(try JSON(end.output)["steps"].array.reduce(0) { $0 + ($1["units"].int ?? 0) } <= 4)
        #expect(end.output.contains("budget"), "\(end.output)")
        try poor.stop()
    }

    @Test(
        "prove exits with 1 if no server replies, and with 4 if a reply is not the expected reply"
    )
    func exitStatus() throws {
        let (emulator, scratch) = (try TestEmulator(zone: ProgramHarness.zone), try Scratch())
        let daemon = try daemon(emulator, scratch)
        try emulator.misbehave("garbage")
        let differs = try daemon.control("prove", "ali")
        #expect(differs.status == 4 && differs.output.contains("DIFFERS  families: A"))
        try emulator.misbehave("reset")
        let dead = try daemon.control("prove", "ali")
        #expect(dead.status == 1, "\(dead)")
        #expect(dead.output.contains("0 agree, 0 differ"), "\(dead.output)")
        #expect(dead.output.contains("not tested ("), "\(dead.output)")
        try daemon.stop()
    }

    @Test("`prove --vectors` prints replies without account and client address")
    func vectors() throws {
        let (emulator, scratch) = (try TestEmulator(zone: ProgramHarness.zone), try Scratch())
        let daemon = try daemon(emulator, scratch)
        let lines = try daemon.control("prove", "ali", "--vectors").output.split(separator: "\n")
        let vectors = lines.compactMap { try? JSON(String($0)) }
        #expect(vectors.count == lines.count && !vectors.isEmpty)
        let plain = try #require(
            vectors.first { $0["vendor"].string?.contains("v2 http http") == true }
        )
        #expect(plain["body"].string?.contains(#""cip":"203.0.113.1""#) == true, "\(lines)")
        #expect(!lines.joined().contains("100000"))
        try daemon.stop()
    }
}
