// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Vendor costs", .needs(.dig, .nsd, .curl), .hangLimit)
struct CostTests {
    private static let secondRoute = """
        fallback-after: off
          - domains: ["*.many.example.com", many.example.net]
            vendors: [tencent]
            fallback-after: off
        """

    private static func table(_ json: JSON) -> [String: Int] {
        Dictionary(uniqueKeysWithValues: json.keys.map { ($0, json[$0].int ?? -1) })
    }

    private static func ask(_ questions: [(name: String, type: UInt16)], _ socket: Socket) throws {
        for (id, question) in questions.enumerated() {
            var query = RawMessage.query(question.name, type: question.type)
            query[0] = UInt8(id >> 8)
            query[1] = UInt8(id & 0xFF)
            try socket.send(query)
        }
        for _ in questions {
            let rcode = RawMessage.rcode(try socket.receive())
            #expect(rcode == 0 || rcode == 3, "\(rcode)")
        }
    }

    @Test("the daemon's counts of billable calls and names agree with the vendor's counts")
    func bill() throws {
        let harness = try ProgramHarness(
            faults: ["delay=400"],
            route: Self.secondRoute,
            vendor: "batching: waiting"
        )
        let names =
            ["www.example.com", "none.example.com"] + (0..<60).map { "n\($0).many.example.com" }
        let others = names.prefix(10)
        let questions =
            names.map { ($0, UInt16(1)) } + others.map { ($0, 28) } + others.map { ($0, 1) }
        let socket = try Socket(.datagram, to: harness.daemon.port)
        try Self.ask(questions, socket)
        try harness.emulator.misbehave()
        try Self.ask(questions, socket)

        let calls = try harness.emulator.calls()
        #expect(Self.table(calls["names"]) == Dictionary(names.map { ($0, 1) }) { $0 + $1 })
        let count = try #require(calls["lookups"].int)
        #expect(count < names.count)

        let stats = try harness.daemon.stats()
        let vendor = try #require(stats["vendors"].array.first)
        #expect(vendor["calls"].int == count)
        #expect(vendor["billable-calls"].int == count)
        #expect(vendor["billable-names"].int == names.count)
        let (found, empty) = (vendor["successes"].int ?? -1, vendor["empty"].int ?? -1)
        #expect(found + empty == vendor["lookups"].int && vendor["unanswered"].int == 0)
        #expect(vendor["avoided", "batched"].int == names.count - count)
        let routes = vendor["routes"].array
        #expect(routes.map { $0["domain"].string } == ["example.com", "*.many.example.com"])
        #expect(routes.map { $0["names"].int } == [2, 60])
        for route in routes {
            #expect(route["route"].string?.contains("/httpdnsd.yaml:") == true)
        }

        let spared = ["cached", "merged", "paired"].reduce(0) { sum, reason in
            sum + (vendor["avoided", reason].int ?? -1)
        }
        #expect(names.count + spared == stats["queries", "total"].int)
        #expect(try #require(vendor["avoided", "cached"].int) >= questions.count)
        #expect(vendor["avoided", "cached"].int == stats["cache", "hits"].int)
        let shared = ["merged", "paired"].reduce(0) { $0 + (vendor["avoided", $1].int ?? -1) }
        #expect(stats["misses", "merged"].int == shared)
        try harness.daemon.stop()
    }

    @Test("top cost lists names with calls, route and vendor")
    func top() throws {
        let harness = try ProgramHarness(route: Self.secondRoute)
        let daemon = harness.daemon
        for (name, count) in [("www.example.com", 3), ("a.many.example.com", 2)] {
            for _ in 0..<count {
                _ = try daemon.dig(name, "A")
                _ = try daemon.control("flush", "--all")
            }
        }
        _ = try daemon.dig("none.example.com", "A")
        let top = try JSON(daemon.control("top", "cost", "--json").output)
        let entries = top["entries"].array
        #expect(
            Dictionary(
                uniqueKeysWithValues: entries.map {
                    (String(($0["name"].string ?? "").dropLast()), $0["calls"].int ?? -1)
                }
            ) == Self.table(try harness.emulator.calls()["names"])
        )
        #expect(entries.map { $0["calls"].int } == [3, 2, 1])
        #expect(
            entries.map { $0["domain"].string }
                == ["example.com", "*.many.example.com", "example.com"]
        )
        #expect(entries.allSatisfy { $0["vendor"].string == "tencent" && $0["excess"].int == 0 })
        #expect(top["total"].int == 6 && top["kind"].string == "cost")

        let text = try daemon.control("top", "cost", "-n", "1").output
        #expect(text.contains("www.example.com.") && !text.contains("many"), "\(text)")
        #expect(text.contains("50.0 %"), "\(text)")
        let unknown = try daemon.control("top", "quick")
        #expect(unknown.status == 1 && unknown.errors.contains("use one of: names"), "\(unknown)")
        try daemon.stop()
    }

    @Test("a saved call is counted for a hit, and for an AAAA query after an empty A answer")
    func avoided() throws {
        let harness = try ProgramHarness()
        for _ in 0..<3 { _ = try harness.daemon.dig("www.example.com", "A") }
        for _ in 0..<2 { _ = try harness.daemon.dig("three.example.org", "A") }
        for type in ["A", "AAAA", "A"] { _ = try harness.daemon.dig("none.example.com", type) }
        let stats = try harness.daemon.stats()
        let vendor = try #require(stats["vendors"].array.first)
        #expect(
            Self.table(vendor["avoided"])
                == ["cached": 3, "merged": 0, "paired": 1, "batched": 0, "fleet": 0]
        )
        #expect(stats["cache", "hits"].int == 4)
        #expect(stats["misses", "merged"].int == 1)
        #expect(vendor["lookups"].int == 2 && vendor["empty"].int == 1)
        #expect(try harness.emulator.lookups() == 2)
        try harness.daemon.stop()
    }

    @Test(
        "`stats --reset` clears the counters of `stats` and `top cost`, but not those of `status`"
    )
    func reset() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        for name in ["www.example.com", "www.example.com", "none.example.com", "two.example.org"] {
            _ = try daemon.dig(name, "A")
        }
        let before = try JSON(daemon.control("stats", "--reset", "--json").output)
        #expect(before["vendors"].array.first?["billable-calls"].int == 2)
        let stats = try daemon.stats()
        let vendor = try #require(stats["vendors"].array.first)
        for key in ["lookups", "successes", "empty", "unanswered", "calls", "billable-calls"] {
            #expect(vendor[key].int == 0, "\(key)")
        }
        for key in ["billable-names", "connections-opened", "connections-reused"] {
            #expect(vendor[key].int == 0, "\(key)")
        }
        #expect(vendor["failures"].sum == 0 && vendor["avoided"].sum == 0)
        #expect(vendor["routes"].array.allSatisfy { $0["names"].int == 0 })
        #expect(stats["cache", "insertions"].int == 0)
        #expect(try #require(stats["cache", "entries"].int) > 0)
        let upstream = try #require(stats["upstreams"].array.first)
        #expect(upstream["queries"].int == 0 && upstream["successes"].int == 0)
        #expect(stats["misses", "merged"].int == 0)
        var top = try JSON(daemon.control("top", "cost", "--json").output)
        #expect(top["entries"].array.isEmpty && top["total"].int == 0)

        _ = try daemon.dig("four.example.com", "A")
        top = try JSON(daemon.control("top", "cost", "--json").output)
        #expect(top["entries"].array.map { $0["name"].string } == ["four.example.com."])
        #expect(top["total"].int == 1)
        #expect(try daemon.stats()["vendors"].array.first?["billable-calls"].int == 1)
        let status = try JSON(daemon.control("status", "--json").output)
        #expect(status["vendors"].array.first?["billable-calls"].int == 3)
        try daemon.stop()
    }

    @Test("if the budget is spent, the fallback answers")
    func budget() throws {
        let harness = try ProgramHarness(vendor: "budget: {calls-per-day: 2}")
        let daemon = harness.daemon
        for name in ["four.example.com", "six.example.com"] { _ = try daemon.dig(name, "A") }
        var status = try daemon.control("status", "--json")
        #expect(status.status == 4)
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        #expect(try harness.emulator.lookups() == 2)

        status = try daemon.control("status", "--json")
        let json = try JSON(status.output)
        let vendor = try #require(json["vendors"].array.first)
        #expect(vendor["state"].string == "degraded" && vendor["rest", "by"].string == "budget")
        let left = try #require(vendor["rest", "for-seconds"].int)
        #expect(left > 0 && left <= 86_400)
        #expect(vendor["budget", "calls-per-day"].int == 2)
        #expect(vendor["budget", "spent-today"].int == 2)
        #expect(vendor["budget", "beyond"].int == 1)
        #expect(vendor["budget", "state"].string == "spent")
        #expect(json["problems"].array.first?.string?.contains("budget") == true)
        #expect(try daemon.control("status").output.contains("budget: 2 of 2 calls today"))

        let resumed = try daemon.control("resume", "tencent").output
        let verdict =
            "tencent is not paused; not called yet: the budget is spent; the next one starts in "
        #expect(resumed.hasPrefix(verdict), "\(resumed)")
        _ = try daemon.control("stats", "--reset")
        let budget = try #require(try daemon.stats()["vendors"].array.first)["budget"]
        #expect(budget["spent-today"].int == 2)
        #expect(budget["beyond"].int == 0)
        try daemon.stop()
    }

    @Test("with `on-exceeded: warn`, the daemon continues to call the vendor beyond the budget")
    func warning() throws {
        let harness = try ProgramHarness(vendor: "budget: {calls-per-day: 1, on-exceeded: warn}")
        for name in ["four.example.com", "www.example.com"] {
            #expect(try harness.daemon.dig(name, "A").status == "NOERROR")
        }
        #expect(try harness.emulator.lookups() == 2)
        let status = try harness.daemon.control("status", "--json")
        #expect(status.status == 0)
        let vendor = try #require(try JSON(status.output)["vendors"].array.first)
        #expect(vendor["rest"].keys.isEmpty && vendor["state"].string == "up")
        #expect(vendor["budget", "state"].string == "exceeded")
        #expect(vendor["budget", "beyond"].int == 1)
        try harness.daemon.stop()
    }

    @Test("the daemon does not call a paused vendor, and the status is not degraded")
    func pause() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        let end = try daemon.control("pause", "tencent")
        #expect(end.status == 0 && end.output.hasPrefix("tencent is paused until"), "\(end)")
        _ = try daemon.program.line(with: "vendor tencent: paused by an operator")
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        #expect(try harness.emulator.lookups() == 0)

        let status = try daemon.control("status", "--json")
        #expect(status.status == 0)
        let json = try JSON(status.output)
        #expect(json["state"].string == "ready" && json["problems"].array.isEmpty)
        let vendor = try #require(json["vendors"].array.first)
        #expect(vendor["state"].string == "paused")
        #expect(vendor["rest", "by"].string == "operator")
        #expect(vendor["rest"].keys == ["by"])
        let text = try daemon.control("status").output
        #expect(text.contains("until `httpdnsctl resume tencent`"), "\(text)")
        #expect(try daemon.stats()["vendors"].array.first?["unanswered"].int == 1)
        #expect(try daemon.control("pause", "tencent").output == "tencent is already paused\n")

        let resumed = try daemon.control("resume", "tencent", "--json")
        #expect(try JSON(resumed.output)["changed"].bool == true)
        _ = try daemon.program.line(with: "vendor tencent: resumed")
        _ = try daemon.control("flush", "--all")
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        #expect(try harness.emulator.lookups() == 1)
        #expect(try daemon.control("resume", "tencent").output == "tencent is not paused\n")
        try daemon.stop()
    }

    @Test("a pause of the vendor under load loses no query")
    func pauseUnderLoad() throws {
        let harness = try ProgramHarness(faults: ["delay=100"])
        let socket = try Socket(.datagram, to: harness.daemon.port)
        let count = 200
        for id in 0..<count {
            var query = RawMessage.query("n\(id).many.example.com")
            query[1] = UInt8(id)
            try socket.send(query)
        }
        #expect(try harness.daemon.control("pause", "tencent").status == 0)
        var rcodes: [UInt8: Int] = [:]
        for _ in 0..<count { rcodes[RawMessage.rcode(try socket.receive()), default: 0] += 1 }
        #expect(Set(rcodes.keys).isSubset(of: [0, 3]), "\(rcodes)")
        let vendor = try #require(try harness.daemon.stats()["vendors"].array.first)
        #expect(vendor["successes"].int == rcodes[0, default: 0])
        #expect(vendor["billable-names"].int == rcodes[0, default: 0])
        #expect(vendor["billable-calls"].int == (try harness.emulator.lookups()))
        try harness.daemon.stop()
    }

    @Test("for an unknown vendor, httpdnsctl reports an error with a suggestion")
    func unknown() throws {
        let harness = try ProgramHarness()
        for verb in ["pause", "resume"] {
            let near = try harness.daemon.control(verb, "tencnet")
            #expect(near.status == 1)
            #expect(near.errors.contains("did you mean `tencent`?"), "\(near.errors)")
            let far = try harness.daemon.control(verb, "unknown")
            #expect(far.status == 1 && far.errors.contains("configured: tencent"), "\(far.errors)")
        }
        try harness.daemon.stop()
    }

    @Test(
        "`status` explains a back-off, and `resume` ends the back-off",
        arguments: [("status=401", "account", 300), ("status=429", "limit", 1)]
    )
    func refused(_ fault: String, _ reason: String, _ seconds: Int) throws {
        let harness = try ProgramHarness(faults: [fault])
        let daemon = harness.daemon
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["198.51.100.99"])
        let isAccount = reason == "account"
        var status = try daemon.control("status", "--json")
        var vendor = try #require(try JSON(status.output)["vendors"].array.first)
        while isAccount, vendor["rest"].keys.isEmpty {
            status = try daemon.control("status", "--json")
            vendor = try #require(try JSON(status.output)["vendors"].array.first)
        }
        if isAccount {
            #expect(status.status == 4)
            #expect(vendor["state"].string == "down")
            #expect(vendor["rest", "by"].string == reason)
            let left = try #require(vendor["rest", "for-seconds"].int)
            #expect(left > 0 && left <= seconds)
            #expect(vendor["rest", "error"].string?.contains("401") == true)
            let text = try daemon.control("status")
            #expect(text.output.contains("httpdnsctl resume tencent"), "\(text.output)")
        }
        #expect(vendor["billable-calls"].int == 0)
        try harness.emulator.misbehave()
        let resumed = try JSON(daemon.control("resume", "tencent", "--json").output)
        #expect(resumed["changed"].bool == isAccount)
        #expect(resumed["vendor"].string == "tencent")
        if isAccount {
            #expect(resumed["rest"].keys.isEmpty)
            _ = try daemon.control("flush", "--all")
            #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
            #expect(try daemon.control("status").status == 0)
        }
        try daemon.stop()
    }

    @Test(
        "`status` shows successful and failed refreshes of a vendor's server addresses",
        arguments: [true, false]
    )
    func refresh(works: Bool) throws {
        let service = try TestEmulator(zone: ProgramHarness.zone)
        let start = try TestEmulator(
            zone: ProgramHarness.zone,
            faults: works ? [] : ["status=500:path:/100000/ss"],
            options: ["--ss-servers", service.address],
            // Over plain HTTP, all servers must have the same port.
            listen: service.address.replacingOccurrences(of: "127.0.0.1:", with: "127.0.0.2:")
        )
        let scratch = try Scratch()
        let vendor = try AlibabaText(
            servers: [start.address],
            in: scratch,
            extra: "scheme: http",
            "schedule: on"
        )
        let daemon = try TestDaemon(vendor.text)
        _ = try daemon.program.line(with: "vendor alibaba: endpoint")
        let status = try daemon.control("status", "--json")
        #expect(status.status == 0)
        let refresh = try #require(try JSON(status.output)["vendors"].array.first)["refresh"]
        #expect(refresh["count"].int == (works ? 1 : 0))
        #expect(refresh["failures"].int == (works ? 0 : 1))
        #expect(refresh.keys.contains("last-age-seconds") == works)
        #expect(refresh["error"].string?.contains("500") == (works ? nil : true))
        let text = try daemon.control("status").output
        let line =
            works ? "addresses refreshed 1 time, last " : "addresses refreshed 0 times, 1 failure"
        #expect(text.contains(line), "\(text)")
        let calls = try #require(try daemon.stats()["vendors"].array.first?["calls"].int)
        #expect(calls <= (works ? 1 : 0), "only the probe of a listed server is billable")
        try daemon.stop()
    }
}
