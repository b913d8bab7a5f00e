// SPDX-License-Identifier: Apache-2.0
import Acceleration
import Monotonic
import Testing

enum Kernel {
    static let runsPrograms =
        (try? KernelAnswers(entries: 1, origin: .init(nanoseconds: 0), seed: 1)) != nil
}

@Suite(
    "Answers from the kernel",
    .needs(.nsd),
    .enabled(if: Kernel.runsPrograms, "the kernel does not allow loading a BPF program"),
    .hangLimit
)
struct AccelerationTests {
    private func ask(_ socket: Socket, _ name: String, times: Int = 1) throws -> [UInt8] {
        var reply: [UInt8] = []
        for time in 0..<times {
            let query = RawMessage.query(name, id: UInt16(truncatingIfNeeded: time))
            try socket.send(query)
            reply = try socket.receive()
            try #require(RawMessage.id(reply) == RawMessage.id(query))
            try #require(RawMessage.rcode(reply) == 0)
        }
        return reply
    }

    private func acceleration(_ daemon: TestDaemon) throws -> JSON {
        try JSON(daemon.control("status", "--json").output)["acceleration"]
    }

    @Test("all counters include the queries that the kernel answers")
    func counted() throws {
        let harness = try ProgramHarness(settings: "accelerate: {loopback: required}")
        let daemon = harness.daemon
        let socket = try Socket(.datagram, to: daemon.port)
        _ = try ask(socket, "www.example.com", times: 1000)
        let stats = try daemon.stats()
        #expect(stats["queries", "total"].int == 1000)
        #expect(stats["queries", "by-source", "cache"].int == 999)
        #expect(stats["queries", "by-source"].sum == 1000)
        #expect(stats["latency", "cache", "count"].int == 999)
        let answers = try #require(stats["acceleration", "answers"].int)
        #expect(answers > 500)
        #expect(stats["acceleration", "state"].string == "on")
        #expect(try daemon.cached("www.example.com", "A").first?["hits"].int == 999)
        let names = try JSON(daemon.control("top", "names", "--json").output)
        #expect(names["total"].int == 1000)
        #expect(names["entries"].array.first?["queries"].int == 1000)
        try daemon.stop()
    }

    @Test("after a flush of an entry, the kernel no longer answers from this entry")
    func flushed() throws {
        let harness = try ProgramHarness(settings: "accelerate: {loopback: required}")
        let daemon = harness.daemon
        let socket = try Socket(.datagram, to: daemon.port)
        for round in 1...20 {
            _ = try ask(socket, "www.example.com", times: 20)
            #expect(try harness.emulator.lookups() == round)
            let what = round.isMultiple(of: 2) ? ["--all"] : ["www.example.com"]
            #expect(
                try run(Product.control, ["--socket", daemon.socket, "flush"] + what).status == 0
            )
        }
        #expect(try #require(acceleration(daemon)["answers"].int) > 100)
        try daemon.stop()
    }

    @Test("during `watch`, the kernel answers no query, and `watch` shows every query")
    func watched() throws {
        let harness = try ProgramHarness(settings: "accelerate: {loopback: required}")
        let daemon = harness.daemon
        let socket = try Socket(.datagram, to: daemon.port)
        _ = try ask(socket, "www.example.com", times: 10)
        let watch = try Child(
            Product.control,
            ["--socket", daemon.socket, "watch", "--json", "-n", "200"]
        )
        _ = try watch.line(with: "queries")
        #expect(try acceleration(daemon)["state"].string == "resting")
        let before = try acceleration(daemon)["answers"].int
        _ = try ask(socket, "www.example.com", times: 200)
        let told = try watch.end()
        #expect(told.status == 0)
        let queries = try told.output.split(separator: "\n")
            .flatMap { try JSON(String($0))["queries"].array }
        #expect(queries.count == 200)
        #expect(queries.allSatisfy { $0["source"].string == "cache" })
        while try acceleration(daemon)["state"].string != "on" {}
        #expect(try acceleration(daemon)["answers"].int == before)
        try daemon.stop()
    }

    @Test(
        "if queries are logged, or `allow` excludes a loopback address, the kernel answers no query"
    )
    func reloaded() throws {
        let upstream = try TestUpstream()
        let common = "\(upstream.text)\naccelerate: {loopback: required}\n"
        let daemon = try TestDaemon(common)
        #expect(try acceleration(daemon)["state"].string == "on")
        try daemon.rewrite(common + "log: {queries: true}")
        #expect(try daemon.control("reload").status == 0)
        #expect(try acceleration(daemon)["state"].string == "resting")
        try daemon.rewrite(common + "allow: [\"127.0.0.0/9\", \"192.0.2.0/24\"]")
        #expect(try daemon.control("reload").status == 0)
        #expect(try acceleration(daemon)["state"].string == "off")
        try daemon.rewrite(common)
        #expect(try daemon.control("reload").status == 0)
        #expect(try acceleration(daemon)["state"].string == "on")
        try daemon.stop()
    }

    @Test("after the daemon process ends, the kernel answers no query")
    func killed() throws {
        let harness = try ProgramHarness(settings: "accelerate: {loopback: required}")
        let socket = try Socket(.datagram, to: harness.daemon.port)
        _ = try ask(socket, "www.example.com", times: 10)
        #expect(try #require(acceleration(harness.daemon)["answers"].int) > 0)
        harness.daemon.program.send(9)
        _ = try harness.daemon.program.end()
        #expect(throws: (any Error).self) { _ = try ask(socket, "www.example.com") }
    }

    @Test("with `accelerate.loopback: off`, the kernel answers no query")
    func off() throws {
        let harness = try ProgramHarness(settings: "accelerate: {loopback: off}")
        let socket = try Socket(.datagram, to: harness.daemon.port)
        _ = try ask(socket, "www.example.com", times: 10)
        let status = try acceleration(harness.daemon)
        #expect(status["state"].string == "off" && status["answers"].int == 0)
        #expect(status["why"].string == "accelerate.loopback is off")
        try harness.daemon.stop()
    }
}
