// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("Stale answers and refresh", .needs(.dig, .nsd, .curl), .hangLimit)
struct FreshnessTests {
    private func briefly(_ more: String = "") -> String {
        """
        cache:
          maximum-ttl: 1s
          \(more)
        """
    }

    private func staleAnswer(_ daemon: TestDaemon, _ name: String) throws -> Dig {
        while try daemon.cached(name, "A").contains(where: { $0["stale"].bool == false }) {}
        return try daemon.dig(name, "A")
    }

    @Test("if the vendor is silent, the stale answer has EDE 3")
    func stale() throws {
        let harness = try ProgramHarness(
            route: "fallback: none",
            settings: briefly("stale: {ttl: 7s}")
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

    @Test("with `stale: off` a failure is SERVFAIL")
    func off() throws {
        let harness = try ProgramHarness(
            route: "fallback: none\n    stale: off",
            vendor: "timeout: 200ms",
            settings: briefly()
        )
        let daemon = harness.daemon
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        try harness.emulator.misbehave("status=500")
        var reply = try staleAnswer(daemon, "www.example.com")
        #expect(reply.status == "SERVFAIL" && reply.text.contains("EDE: 22"), "\(reply.text)")
        // The failure is cached for 1 s only.
        while !reply.text.contains("EDE: 13") {
            reply = try daemon.dig("www.example.com", "A")
            #expect(reply.status == "SERVFAIL" && reply.text.contains("EDE: 22"), "\(reply.text)")
        }
        try daemon.stop()
    }

    @Test("a popular name is refreshed before it expires")
    func prefetch() throws {
        let harness = try ProgramHarness(
            settings: "cache: {maximum-ttl: 10s, prefetch: {at: 50%}}"
        )
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

    @Test("prefetch names are resolved at the start")
    func names() throws {
        let harness = try ProgramHarness(
            settings: "cache: {prefetch: {names: [www.example.com, three.example.org]}}"
        )
        let daemon = harness.daemon
        while try daemon.stats()["refresh", "done"].int ?? 0 < 3 {}
        for (name, type) in [
            ("www.example.com", "A"), ("www.example.com", "AAAA"), ("three.example.org", "A"),
        ] {
            #expect(try daemon.dig(name, type).answers.isEmpty == false)
        }
        let stats = try daemon.stats()
        #expect(stats["queries", "by-source", "cache"].int == 3)
        #expect(try harness.emulator.lookups() == 1)
        try daemon.stop()
    }

    @Test("a softly flushed entry is resolved again, or answered stale")
    func softly() throws {
        let harness = try ProgramHarness(route: "fallback: none")
        let daemon = harness.daemon
        for name in ["www.example.com", "four.example.com"] {
            #expect(try daemon.dig(name, "A").status == "NOERROR")
        }
        #expect(
            try daemon.control("flush", "--soft", "www.example.com").output
                == "marked 2 entries stale\n"
        )
        #expect(try daemon.dig("www.example.com", "A").answers.map(\.ttl) == [300, 300])
        #expect(try harness.emulator.lookups() == 3)

        try harness.emulator.misbehave("status=500")
        #expect(try daemon.control("flush", "--soft", "--all").status == 0)
        let reply = try daemon.dig("www.example.com", "A")
        #expect(
            reply.data("A") == ["192.0.2.1", "192.0.2.2"] && reply.text.contains("EDE: 3"),
            "\(reply.text)"
        )
        try daemon.stop()
    }

    @Test("flush --stale and --source remove the matching entries")
    func selections() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        for name in ["www.example.com", "four.example.com", "three.example.org"] {
            #expect(try daemon.dig(name, "A").status == "NOERROR")
        }
        #expect(try daemon.control("flush", "--stale").output == "removed 0 entries\n")
        #expect(try daemon.control("flush", "--soft", "four.example.com").status == 0)
        #expect(try daemon.control("flush", "--stale").output == "removed 2 entries\n")
        #expect(try daemon.control("flush", "--source", "nsd").output == "removed 1 entry\n")
        let wrong = try daemon.control("flush", "--source", "tencnet")
        #expect(
            wrong.status == 1 && wrong.errors.contains("did you mean `tencent`?"),
            "\(wrong.errors)"
        )
        #expect(try daemon.control("flush", "--source", "tencent").output == "removed 2 entries\n")
        #expect(try daemon.stats()["cache", "entries"].int == 0)
        try daemon.stop()
    }
}
