// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Stale answers and refresh", .needs(.dig, .nsd, .curl), .hangLimit)
struct FreshnessTests {
    private func staleAnswer(_ daemon: TestDaemon, _ name: String) throws -> Dig {
        while try daemon.cached(name, "A").contains(where: { $0["stale"].bool == false }) {}
        return try daemon.dig(name, "A")
    }

    @Test("if the vendor does not reply, the client gets a stale answer with EDE 3")
    func stale() throws {
        let harness = try ProgramHarness(
            route: "fallback: none",
            settings: "cache: {maximum-ttl: 1s, stale: {ttl: 7s}}"
        )
        let daemon = harness.daemon
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        try harness.emulator.misbehave("silent")
        let reply = try staleAnswer(daemon, "www.example.com")
        #expect(reply.data("A") == ["192.0.2.1", "192.0.2.2"], "\(reply.text)")
        #expect(reply.answers.map(\.ttl) == [7, 7])
        #expect(reply.text.contains("EDE: 3 (Stale Answer)"), "\(reply.text)")
        let queries = try daemon.stats()["queries"]
        #expect(queries["by-source", "stale"].int == 1)
        #expect(queries["by-source"].sum == queries["total"].int)

        try harness.emulator.misbehave()
        while try daemon.dig("www.example.com", "A").text.contains("EDE: 3") {}
        try daemon.stop()
    }

    @Test("the daemon refreshes the answer for a popular name before the TTL ends")
    func prefetch() throws {
        let harness = try ProgramHarness(settings: "cache: {maximum-ttl: 10s, prefetch: {at: 50%}}")
        let daemon = harness.daemon
        var asked = 0
        while try daemon.stats()["refresh", "done"].int == 0 {
            asked += 1
            let reply = try daemon.dig(
                "four.example.com",
                "A",
                asked.isMultiple(of: 2) ? "+tcp" : "+notcp"
            )
            #expect(reply.data("A") == ["192.0.2.4"])
        }
        #expect(try harness.emulator.lookups() == 2)
        let stats = try daemon.stats()
        #expect(stats["queries", "by-source", "cache"].int == asked - 1)
        #expect(stats["refresh", "started"].int == 1)
        try daemon.stop()
    }
}
