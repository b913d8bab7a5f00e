// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("httpdnsctl", .needs(.dig, .nsd, .curl), .hangLimit)
struct ControlTests {
    @Test("status reports readiness, listeners, vendors and upstreams")
    func status() throws {
        let harness = try ProgramHarness()
        let end = try harness.daemon.control("status", "--json")
        #expect(end.status == 0 && end.errors.isEmpty)
        let status = try JSON(end.output)
        #expect(status["state"].string == "ready")
        #expect(status["pid"].int == Int(harness.daemon.program.pid))
        #expect(
            status["listeners"].array.map {
                "\($0["address"].string ?? "") \($0["transport"].string ?? "")"
            }
                == ["udp", "tcp"].map { "127.0.0.1:\(harness.daemon.port) \($0)" }
        )
        let vendor = try #require(status["vendors"].array.first)
        #expect(vendor["name"].string == "tencent" && vendor["state"].string == "up")
        #expect(vendor["servers"].array.first?["address"].string == harness.emulator.address)
        let upstream = try #require(status["upstreams"].array.first)
        #expect(upstream["name"].string == "nsd" && upstream["protected"].bool == false)
        let text = try harness.daemon.control("status").output
        for part in ["READY", "127.0.0.1:\(harness.daemon.port)", "tencent", "unprotected"] {
            #expect(text.contains(part), "\(part)")
        }
        try harness.daemon.stop()
    }

    @Test("if the control socket is removed, the daemon opens it again")
    func removedSocket() throws {
        let harness = try ProgramHarness()
        try FileManager.default.removeItem(atPath: harness.daemon.socket)
        _ = try harness.daemon.program.line(with: "control.sock was removed, opening it again")
        while !FileManager.default.fileExists(atPath: harness.daemon.socket) { sched_yield() }
        #expect(try harness.daemon.control("version").status == 0)
        try harness.daemon.stop()
    }

    @Test("the daemon tries to open a removed control socket again until the attempt succeeds")
    func blockedSocket() throws {
        let harness = try ProgramHarness()
        let socket = harness.daemon.socket
        let obstacle = socket + ".new"
        try "a foreign file".write(toFile: obstacle, atomically: false, encoding: .utf8)
        #expect(rename(obstacle, socket) == 0)
        _ = try harness.daemon.program.line(with: "until then httpdnsctl cannot connect")
        #expect(try String(contentsOfFile: socket, encoding: .utf8) == "a foreign file")
        #expect(unlink(socket) == 0)
        while !FileManager.default.fileExists(atPath: socket) { sched_yield() }
        #expect(try harness.daemon.control("version").status == 0)
        try harness.daemon.stop()
    }

    @Test("if the directory of the control socket is missing, the daemon opens the socket later")
    func unusableSocket() throws {
        let scratch = try Scratch()
        let directory = scratch.file("missing")
        let daemon = try TestDaemon(
            "hosts: {records: {one.example.com: [192.0.2.1]}}\n\(unusedUpstream)",
            controlledAt: directory + "/control.sock"
        )
        #expect(try daemon.dig("one.example.com", "A").data("A") == ["192.0.2.1"])
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: false
        )
        while !FileManager.default.fileExists(atPath: daemon.socket) { sched_yield() }
        #expect(try daemon.control("version").status == 0)
        let end = try daemon.program.stop()
        #expect(end.status == 0)
        #expect(end.errors.contains("cannot open the control socket \(daemon.socket): "))
    }

    @Test("if the control socket is in use, the daemon answers queries, and opens the socket later")
    func takenSocket() throws {
        let first = try TestDaemon(unusedUpstream)
        let second = try TestDaemon(
            "hosts: {records: {one.example.com: [192.0.2.1]}}\n\(unusedUpstream)",
            controlledAt: first.socket
        )
        #expect(try second.dig("one.example.com", "A").data("A") == ["192.0.2.1"])
        try first.stop()
        while try second.control("version").status != 0 { sched_yield() }
        let end = try second.program.stop()
        #expect(end.errors.contains("\(first.socket): another process listens there"))
    }

    @Test("if clients disconnect while the daemon is stopped, only their oneway calls are executed")
    func lateCall() throws {
        let daemon = try TestDaemon(unusedUpstream)
        daemon.program.send(SIGSTOP)
        for (call, level) in [("", "debug"), (",\"oneway\":true", "notice")] {
            let client = try Socket(unixPath: daemon.socket)
            let method = "\"method\":\"io.httpdnsd.Control.LogLevel\""
            let parameters = "\"parameters\":{\"level\":\"\(level)\"}"
            try client.send(Array("{\(method),\(parameters)\(call)}".utf8) + [0])
        }
        daemon.program.send(SIGCONT)
        while try !daemon.control("log-level").output.hasPrefix("notice") { sched_yield() }
        let end = try daemon.program.stop()
        #expect(!end.errors.contains("debug"), "\(end.errors)")
    }

    @Test("`version` lists the libraries, and `stats` without `--json` lists the vendors")
    func version() throws {
        let harness = try ProgramHarness()
        let version = try JSON(harness.daemon.control("version", "--json").output)
        #expect(version.keys == ["libcurl", "libyaml", "openssl", "swift", "version"])
        for key in version.keys { #expect(version[key].string?.isEmpty == false, "\(key)") }
        #expect(try harness.daemon.control("version").output.contains("libcurl"))
        let stats = try harness.daemon.control("stats")
        #expect(stats.status == 0 && stats.output.contains("tencent"), "\(stats.output)")
        try harness.daemon.stop()
    }

    private func filled() throws -> ProgramHarness {
        let harness = try ProgramHarness()
        _ = try harness.daemon.dig("www.example.com", "A")  // Also stores AAAA.
        _ = try harness.daemon.dig("four.example.com", "A")  // Also stores NODATA for AAAA.
        #expect(try harness.daemon.dig("three.example.org", "A").status == "NOERROR")
        let negative = try harness.daemon.dig("nowhere.example.org", "A")
        #expect(negative.status == "NXDOMAIN", "\(negative.text)")
        return harness
    }

    @Test(
        "flush removes and counts exactly the selected entries",
        arguments: [
            (["--all"], 6), (["www.example.com"], 2), (["WWW.example.com.", "aaaa"], 1),
            (["--tree", "example.com"], 4), (["--tree", "."], 6), (["--negative"], 2),
            (["nothing.example.com"], 0), (["--stale"], 0), (["--source", "nsd"], 2),
            (["--source", "tencent"], 4),
        ]
    )
    func flush(arguments: [String], count: Int) throws {
        let daemon = try filled().daemon
        let end = try run(
            Product.control,
            ["--socket", daemon.socket, "flush", "--json"] + arguments
        )
        #expect(end.status == 0, "\(end.errors)")
        #expect(try JSON(end.output)["removed"].int == count)
        #expect(try daemon.stats()["cache", "entries"].int == 6 - count)
        try daemon.stop()
    }

    @Test("`lookup` shows cached entries without vendor calls, and exits with 1 if there are none")
    func lookup() throws {
        let harness = try filled()
        let daemon = harness.daemon
        let before = try harness.emulator.lookups()
        let end = try daemon.control("lookup", "www.example.com", "--json")
        #expect(end.status == 0)
        let entries = try JSON(end.output)["entries"].array
        #expect(entries.map { $0["type"].string }.sorted { $0 ?? "" < $1 ?? "" } == ["A", "AAAA"])
        let four = try #require(entries.first { $0["type"].string == "A" })
        #expect(four["source"].string == "tencent")
        #expect(four["server"].string?.hasPrefix("127.0.0.1:") == true)
        #expect(four["records"].array.count == 2)
        #expect(four["stale"].bool == false)
        #expect(try #require(four["ttl-seconds"].int) <= 300)
        let denial = try #require(try daemon.cached("nowhere.example.org", "A").first)
        #expect(denial["rcode"].string?.lowercased() == "nxdomain")
        #expect(denial["source"].string == "nsd")
        let nothing = try daemon.control("lookup", "nothing.example.com")
        #expect(nothing.status == 1 && nothing.errors.contains("nothing.example.com"))
        #expect(try harness.emulator.lookups() == before)
        try daemon.stop()
    }

    @Test("watch prints answered queries, and top counts them")
    func watch() throws {
        let harness = try ProgramHarness()
        let daemon = harness.daemon
        let all = try Child(
            Product.control,
            ["--socket", daemon.socket, "watch", "--json", "-n", "4"]
        )
        let failing = try Child(
            Product.control,
            ["--socket", daemon.socket, "watch", "--name", "four.example.com", "-n", "1"]
        )
        _ = try all.line(with: "queries")
        _ = try failing.line(with: "TOOK")
        _ = try daemon.dig("www.example.com", "A")
        _ = try daemon.dig("WWW.example.com", "AAAA", "+tcp")
        _ = try daemon.dig("nowhere.example.org", "A")
        _ = try daemon.dig("four.example.com", "A")
        let told = try all.end()
        #expect(told.status == 0)
        let queries = try told.output.split(separator: "\n")
            .flatMap { try JSON(String($0))["queries"].array }
        #expect(queries.map { $0["source"].string } == ["vendor", "cache", "upstream", "vendor"])
        #expect(queries.map { $0["transport"].string } == ["udp", "tcp", "udp", "udp"])
        #expect(queries[1]["name"].string == "WWW.example.com.")
        #expect(queries[1]["server"].string?.hasPrefix("tencent/127.0.0.1:") == true)
        #expect(queries[2]["rcode"].string == "nxdomain")
        let one = try failing.end()
        #expect(one.status == 0 && one.output.contains("four.example.com."))
        #expect(!one.output.contains("www.example.com."))

        let names = try JSON(daemon.control("top", "names", "--json").output)
        #expect(names["total"].int == 4)
        #expect(names["entries"].array.first?["name"].string == "www.example.com.")
        #expect(names["entries"].array.first?["queries"].int == 2)
        let slow = try JSON(daemon.control("top", "slow", "--json", "-n", "1").output)
        #expect(slow["entries"].array.count == 1)
        try daemon.stop()
    }

    @Test("if no daemon runs, httpdnsctl exits with 3")
    func unreachable() throws {
        let scratch = try Scratch()
        let socket = scratch.file("none.sock")
        for verb in [
            ["status"], ["stats"], ["flush", "--all"], ["lookup", "a.example"], ["version"],
        ] {
            let end = try run(Product.control, ["--socket", socket] + verb)
            #expect(end.status == 3, "\(verb)")
            #expect(end.errors.contains(socket), "\(end.errors)")
        }
    }

    @Test(
        "with a wrong command line, httpdnsctl exits with 2",
        arguments: [
            [], ["nonsense"], ["flush"], ["flush", "--all", "a.example"], ["lookup"],
            ["stats", "--watch", "0"], ["status", "--nonsense"],
        ]
    )
    func usage(arguments: [String]) throws {
        let end = try run(Product.control, arguments)
        #expect(end.status == 2, "\(end.errors)")
        #expect(!end.errors.isEmpty)
    }

    @Test("if the daemon rejects an argument, httpdnsctl exits with 1")
    func refused() throws {
        let daemon = try TestDaemon(unusedUpstream)
        for arguments in [["lookup", "a..b"], ["lookup", "a.example", "NOTYPE"]] {
            let end = try run(Product.control, ["--socket", daemon.socket] + arguments)
            #expect(end.status == 1, "\(arguments): \(end.errors)")
            #expect(!end.errors.isEmpty)
        }
        try daemon.stop()
    }

    @Test("if a vendor fails, `status` shows `degraded` and the reason, and exits with 4")
    func degraded() throws {
        let harness = try ProgramHarness(faults: ["status=500"])
        _ = try harness.daemon.dig("www.example.com", "A")
        let end = try harness.daemon.control("status", "--json")
        #expect(end.status == 4)
        let status = try JSON(end.output)
        #expect(status["state"].string == "degraded")
        #expect(status["problems"].array.first?.string?.contains("tencent") == true)
        try harness.daemon.stop()
    }
}
