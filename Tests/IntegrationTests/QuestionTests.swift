// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("httpdnsctl explain, resolve and dump", .needs(.dig, .nsd, .curl), .hangLimit)
struct QuestionTests {
    @Test("explain predicts the route, the cache result and the cost without a query or call")
    func prediction() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        let before = try harness.emulator.lookups()
        let dry = try JSON(daemon.control("explain", "www.example.com", "--json").output)
        let place = try #require(dry["route", "place"].string)
        #expect(place.contains(".yaml:"), "\(place)")
        #expect(dry["route", "pattern"].string == "example.com")
        #expect(dry["route", "vendors"].array.map(\.string) == ["tencent"])
        #expect(
            dry["steps"].array.map { $0["stage"].string } == [
                "question", "hosts", "special", "route", "cache", "vendors", "upstreams",
            ]
        )
        #expect(dry["steps"].array[4]["result"].string == "miss")
        #expect(dry["cost", "billable-calls"].int == 1 && dry["cost", "vendor"].string == "tencent")
        #expect(dry["answer"].value == nil && dry["live"].value == nil)
        #expect(try harness.emulator.lookups() == before)

        #expect(try daemon.dig("www.example.com", "A").status == "NOERROR")
        #expect(try harness.emulator.lookups() == before + 1)
        let held = try JSON(daemon.control("explain", "www.example.com", "AAAA", "--json").output)
        #expect(held["answer", "source"].string == "cache")
        #expect(held["answer", "records"].array.map(\.string) == ["2001:db8::1"])
        #expect(held["cost", "billable-calls"].int == 0)
        #expect(held["cost", "next-billable-calls"].int == 1)
        #expect(try #require(held["cost", "next-seconds"].int) <= 225, "75 % of 300 s")
        #expect(try harness.emulator.lookups() == before + 1)
        let text = try daemon.control("explain", "www.example.com").output
        #expect(text.contains("\(place) `example.com`") && text.contains("hit: noerror"))
        try daemon.stop()
    }

    @Test(
        "explain --live shows requests, connections and times, but no secret",
        arguments: [VendorText.Channel.https, .aes]
    )
    func live(_ channel: VendorText.Channel) throws {
        let harness = try ProgramHarness(channel, firstFaults: ["status=500"])
        let daemon = harness.daemon
        let end = try daemon.control("explain", "www.example.com", "--live", "--json")
        #expect(end.status == 0, "\(end.errors)")
        let report = try JSON(end.output)["live"]
        let addresses = report["answer", "records"].array.compactMap(\.string)
        #expect(addresses.sorted() == ["192.0.2.1", "192.0.2.2"])
        #expect(try #require(report["billable-calls"].int) >= 2)
        let attempts = report["attempts"].array
        try #require(attempts.count == 2)
        #expect(attempts[0]["status"].int == 500 && attempts[0]["why"].string == "first")
        #expect(attempts[1]["status"].int == 200 && attempts[1]["why"].string == "next")
        #expect(attempts[1]["result"].string?.contains("A 192.0.2.") == true)
        #expect(attempts[1]["reused"].bool == false)
        #expect(attempts[1]["connected-ms"].value != nil)
        #expect((attempts[1]["secured-ms"].value == nil) == (channel != .https))
        let request = try #require(attempts[1]["request"].string)
        #expect(request.hasPrefix("GET http") && request.contains("/d?dn=…&"), "\(request)")
        #expect(request.split(separator: "&").allSatisfy { $0.hasSuffix("=…") }, "\(request)")

        let second = try daemon.control("explain", "www.example.com", "--live", "--json")
        let again = try JSON(second.output)
        #expect(again["steps"].array[4]["result"].string?.hasPrefix("hit") == true)
        #expect(again["live", "attempts"].array.last?["reused"].bool == true, "not cached")
        let text = try daemon.control("explain", "www.example.org", "--live")
        #expect(text.output.contains("nsd udp://"), "\(text.output)")
        try daemon.stop()
    }

    @Test("resolve prints results in the order of the names, and exits with 1 for a missing name")
    func resolve() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        let before = try harness.emulator.lookups()
        let good = try daemon.control(
            "resolve",
            "--json",
            "www.example.com",
            "four.example.com",
            "three.example.org"
        )
        #expect(good.status == 0, "\(good.errors)")
        let results = try good.output.split(separator: "\n").map { try JSON(String($0)) }
        #expect(
            results.map { "\($0["name"].string ?? "") \($0["type"].string ?? "")" } == [
                "www.example.com. A", "www.example.com. AAAA", "four.example.com. A",
                "four.example.com. AAAA", "three.example.org. A", "three.example.org. AAAA",
            ]
        )
        #expect(results[0]["records"].array.count == 2 && results[0]["ttl-seconds"].int == 300)
        #expect(results[3]["rcode"].string == "nodata")
        #expect(results[4]["source"].string == "upstream")
        #expect(try harness.emulator.lookups() == before + 2)

        let bad = try daemon.control("resolve", "www.example.com", "nowhere.example.org", "A")
        #expect(bad.status == 1 && bad.output.contains("nxdomain"))
        #expect(bad.output.contains("cache tencent/"))
        let wrong = try daemon.control("resolve", "www.example.com", "a..b")
        #expect(wrong.status == 1 && wrong.errors.contains("a..b"))
        try daemon.stop()
    }

    @Test("dump prints every entry, as lines or JSON")
    func dump() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        let names = (0..<100).map { "n\($0).many.example.com" }
        let filled = try run(
            Product.control,
            ["--socket", daemon.socket, "resolve"] + names + ["A"]
        )
        #expect(filled.status == 0, "\(filled.errors)")
        let held = try #require(try daemon.stats()["cache", "entries"].int)
        let json = try daemon.control("dump", "--json")
        #expect(json.status == 0)
        let entries = try json.output.split(separator: "\n").map { try JSON(String($0)) }
        #expect(entries.count == held && held >= 100)
        let dumped = entries.compactMap { $0["name"].string }
        #expect(Set(dumped) == Set(names.map { $0 + "." }))
        let text = try daemon.control("dump").output
        #expect(text.contains("n7.many.example.com. "))
        #expect(text.contains(" IN A 192.0.2.77 ; tencent 127.0.0.1:"))
        try daemon.stop()
    }
}
