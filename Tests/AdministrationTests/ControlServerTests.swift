// SPDX-License-Identifier: Apache-2.0
import TestWorld
import Testing

@testable import Administration
@testable import Control
@testable import Net

@Suite("Control server", .timeLimit(.minutes(15)))
struct ControlServerTests {
    func call(_ method: String) -> String { #"{"method":"io.httpdnsd.Control.\#(method)"}"# }

    @Test("every method returns its results")
    @ServiceLoop
    func methods() async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        let status = try await client.ask(call("Status"))
        #expect(try status?.results(as: StatusReply.self) == Samples.status)
        let stats = try await client.ask(call("Stats"))
        #expect(try stats?.results(as: StatsReply.self) == Samples.stats)
        let flush = try await client.ask(
            #"{"method":"io.httpdnsd.Control.Flush","parameters":{"negative":true}}"#
        )
        #expect(try flush?.results(as: FlushReply.self) == FlushReply(removed: 3))
        let lookup = try await client.ask(
            #"{"method":"io.httpdnsd.Control.Lookup","parameters":{"name":"www.example.com"}}"#
        )
        #expect(try lookup?.results(as: LookupReply.self) == Samples.lookup)
        for (isLive, expected) in [(false, Samples.foretold), (true, Samples.explained)] {
            let reply = try await client.ask(
                #"{"method":"io.httpdnsd.Control.Explain","#
                    + #""parameters":{"name":"www.example.com","live":\#(isLive)}}"#
            )
            #expect(try reply?.results(as: ExplainReply.self) == expected)
        }
        let resolved = try await client.ask(
            #"{"method":"io.httpdnsd.Control.Resolve","parameters":{"names":["www.example.com"]}}"#
        )
        #expect(try resolved?.results(as: ResolveReply.self) == Samples.resolved)
        let top = try await client.ask(
            #"{"method":"io.httpdnsd.Control.Top","parameters":{"kind":"cost","count":1}}"#
        )
        #expect(try top?.results(as: TopReply<NameCost>.self).entries == [Samples.top.entries[0]])
        for (method, change) in [("Pause", Samples.paused), ("Resume", Samples.resumed)] {
            let reply = try await client.ask(
                #"{"method":"io.httpdnsd.Control.\#(method)","parameters":{"vendor":"tencent"}}"#
            )
            #expect(try reply?.results(as: PauseReply.self) == change)
        }
        let version = try await client.ask(call("Version"))
        #expect(try version?.results(as: VersionReply.self) == Samples.version)
        await live.stop()
    }

    @Test("a `Resolve` or `Dump` call with `more` gets one reply per result")
    @ServiceLoop
    func parts() async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        try await client.send(
            #"{"method":"io.httpdnsd.Control.Resolve","more":true,"#
                + #""parameters":{"names":["a.example.com","b.example.com"]}}"# + "\0"
                + #"{"method":"io.httpdnsd.Control.Dump","more":true}"# + "\0"
        )
        for _ in 0..<2 {
            let reply = try #require(try await client.receive())
            #expect(try reply.continues && reply.results(as: ResolveReply.self) == Samples.resolved)
        }
        let end = try #require(try await client.receive())
        #expect(try !end.continues && end.results(as: ResolveReply.self).results.isEmpty)
        for entry in Samples.dump.entries {
            let reply = try #require(try await client.receive())
            #expect(try reply.continues && reply.results(as: DumpReply.self).entries == [entry])
        }
        let last = try #require(try await client.receive())
        #expect(try !last.continues && last.results(as: DumpReply.self).entries.isEmpty)
        await live.stop()
    }

    @Test("a `Stats` call with `more` gets replies until the client disconnects")
    @ServiceLoop
    func stream() async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        try await client.send(
            #"{"method":"io.httpdnsd.Control.Stats","parameters":{"every-seconds":1},"more":true}"#
                + "\0"
        )
        for second in 0..<3 {
            let reply = try #require(try await client.receive())
            #expect(reply.continues)
            #expect(try reply.results(as: StatsReply.self).sinceSeconds == second)
        }
        #expect(live.server.clients == 1)
        try client.connection.shutdownWrite()
        let other = try await live.client()
        _ = try await other.ask(call("Status"))
        #expect(live.server.clients == 2)

        let gone = Waiter()
        live.server.onDismissal = { gone.resume(.ready) }
        client.connection.close()
        #expect(await gone.wait(until: nil) == .ready)
        #expect(live.server.clients == 1)
        await live.stop()
    }

    @Test(
        "an invalid call does not end the connection",
        arguments: [
            (#"{"method":"io.httpdnsd.Control.Dance"}"#, "org.varlink.service.MethodNotFound"),
            (#"{"method":"org.example.Status"}"#, "org.varlink.service.InterfaceNotFound"),
            (#"{"method":"Status"}"#, "org.varlink.service.InterfaceNotFound"),
            (
                #"{"method":"io.httpdnsd.Control.Status","upgrade":true}"#,
                "org.varlink.service.MethodNotImplemented"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Status","parameters":{"x":1}}"#,
                "org.varlink.service.InvalidParameter"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Stats","parameters":{"reset":1}}"#,
                "org.varlink.service.InvalidParameter"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Stats","parameters":{"every-seconds":1}}"#,
                "org.varlink.service.ExpectedMore"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Stats","parameters":{"every-seconds":0}}"#,
                "io.httpdnsd.Control.InvalidArgument"
            ),
            (#"{"method":"io.httpdnsd.Control.Flush"}"#, "io.httpdnsd.Control.InvalidArgument"),
            (
                #"{"method":"io.httpdnsd.Control.Flush","parameters":{"name":"bad..example.com"}}"#,
                "io.httpdnsd.Control.InvalidArgument"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Lookup","parameters":{"name":"b.example.com"}}"#,
                "io.httpdnsd.Control.NotFound"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Resolve","parameters":{"names":[]}}"#,
                "io.httpdnsd.Control.InvalidArgument"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Resolve","parameters":{"names":["#
                    + Array(repeating: #""a.example.com""#, count: 17).joined(separator: ",")
                    + "]}}",
                "io.httpdnsd.Control.InvalidArgument"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Resolve","parameters":{"names":["bad..example.com"]}}"#,
                "io.httpdnsd.Control.InvalidArgument"
            ),
            (#"{"method":"io.httpdnsd.Control.Dump"}"#, "org.varlink.service.ExpectedMore"),
            (
                #"{"method":"io.httpdnsd.Control.Explain","parameters":{"live":true}}"#,
                "org.varlink.service.InvalidParameter"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Top","parameters":{"kind":"quick"}}"#,
                "io.httpdnsd.Control.InvalidArgument"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Top","parameters":{"kind":"cost","count":0}}"#,
                "io.httpdnsd.Control.InvalidArgument"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Top","parameters":{"count":1}}"#,
                "org.varlink.service.InvalidParameter"
            ),
            (
                #"{"method":"io.httpdnsd.Control.Pause","parameters":{"vendor":"nobody"}}"#,
                "io.httpdnsd.Control.NotFound"
            ),
            (#"{"method":"io.httpdnsd.Control.Resume"}"#, "io.httpdnsd.Control.InvalidArgument"),
            (
                #"{"method":"org.varlink.service.GetInterfaceDescription","#
                    + #""parameters":{"interface":"org.example"}}"#,
                "org.varlink.service.InterfaceNotFound"
            ),
            (#"{"method":"org.varlink.service.GetNothing"}"#, "org.varlink.service.MethodNotFound"),
        ]
    )
    @ServiceLoop
    func errors(_ text: String, _ name: String) async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        #expect(try await client.ask(text)?.error == name)
        #expect(try await client.ask(call("Version"))?.error == nil)
        await live.stop()
    }

    @Test("for results that JSON cannot express, such as NaN, the client gets an error reply")
    @ServiceLoop
    func notANumber() async throws {
        var handler = FixedHandler()
        handler.counters.process.cpuSeconds = .nan
        let live = try await LiveServer.start(handler: handler)
        let client = try await live.client()
        #expect(try await client.ask(call("Stats"))?.error == "io.httpdnsd.Control.Failed")
        #expect(try await client.ask(call("Version"))?.error == nil)
        await live.stop()
    }

    @Test("a reply of 8 MiB is complete; a reply above the limit is replaced by an error")
    @ServiceLoop
    func large() async throws {
        let lookup =
            #"{"method":"io.httpdnsd.Control.Lookup","parameters":{"name":"large.example.com"}}"#
        var live = try await LiveServer.start()
        let reply = try await live.client().ask(lookup)
        let octets = try reply?.results(as: LookupReply.self).entries[0].records[0].utf8.count
        #expect(octets == 8 << 20)
        await live.stop()

        live = try await LiveServer.start(handler: FixedHandler(largeOctets: 17 << 20))
        #expect(try await live.client().ask(lookup)?.error == "io.httpdnsd.Control.Failed")
        await live.stop()
    }

    @Test("pipelined calls are answered in order; oneway calls get no reply")
    @ServiceLoop
    func pipelined() async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        var text = ""
        for number in 0..<200 {
            text += #"{"method":"io.httpdnsd.Control.M\#(number)"}"# + "\0"
            text += #"{"method":"io.httpdnsd.Control.Version","oneway":true}"# + "\0"
        }
        try await client.send(text)
        for number in 0..<200 {
            let reply = try await client.receive()
            #expect(reply?.parameters["method"]?.text == "io.httpdnsd.Control.M\(number)")
        }
        #expect(try await client.ask(call("Version"))?.error == nil)
        await live.stop()
    }

    @Test("the server accepts a call that arrives octet by octet")
    @ServiceLoop
    func octets() async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        for octet in Array((call("Version") + "\0").utf8) {
            try await client.connection.write([octet], deadline: nil)
            await Task.yield()
        }
        #expect(try await client.receive()?.error == nil)
        await live.stop()
    }

    @Test(
        "after an invalid message, the server sends the earlier replies and disconnects",
        arguments: ["nonsense\0", "[]\0", "\0", "{}\0", "too long"]
    )
    @ServiceLoop
    func garbage(_ text: String) async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        try await client.send(call("Version") + "\0" + call("Status") + "\0")
        #expect(try await client.receive()?.error == nil)
        // `send` can fail: the server may disconnect before it has read the oversized text.
        try? await client.send(text == "too long" ? String(repeating: "x", count: 70_000) : text)
        #expect(try await client.receive()?.error == nil)
        #expect(try await client.receive() == nil)
        await live.stop()
    }

    @Test("the server disconnects an idle client")
    @ServiceLoop
    func idle() async throws {
        var limits = LiveServer.timeless
        limits.idle = .milliseconds(20)
        let live = try await LiveServer.start(limits: limits)
        #expect(try await live.client().receive() == nil)
        await live.stop()
    }

    @Test("the server disconnects a client that does not send a complete call within the timeout")
    @ServiceLoop
    func slow() async throws {
        var limits = LiveServer.timeless
        limits.arrival = .milliseconds(20)
        let live = try await LiveServer.start(limits: limits)
        let silent = try await live.client()
        try await silent.send(call("Version") + "\0{")
        #expect(try await silent.receive()?.error == nil)
        #expect(try await silent.receive() == nil)

        let dripping = try await live.client()
        while true {
            do { try await dripping.send(" ") } catch { break }
            await Task.yield()
        }
        await live.stop()
    }

    @Test("the server disconnects a client that does not read its replies")
    @ServiceLoop
    func stuck() async throws {
        var limits = LiveServer.timeless
        limits.departure = .milliseconds(50)
        let live = try await LiveServer.start(limits: limits)
        let stuck = try await live.client()
        try await stuck.send(
            #"{"method":"io.httpdnsd.Control.Lookup","parameters":{"name":"large.example.com"}}"#
                + "\0"
        )
        let other = try await live.client()
        repeat {
            #expect(try await other.ask(call("Version"))?.error == nil)
        } while live.server.clients == 2
        #expect(live.server.clients == 1)
        await live.stop()
    }

    @Test("at the limit of connections, the server rejects new clients until a client disconnects")
    @ServiceLoop
    func tooMany() async throws {
        var limits = LiveServer.timeless
        limits.connections = 2
        let live = try await LiveServer.start(limits: limits)
        let first = try await live.client()
        let second = try await live.client()
        #expect(try await first.ask(call("Version"))?.error == nil)
        #expect(try await second.ask(call("Version"))?.error == nil)
        #expect(try await live.client().receive() == nil)
        first.connection.close()
        while live.server.clients == 2 { await Task.yield() }
        #expect(try await live.client().ask(call("Version"))?.error == nil)
        await live.stop()
    }

    @Test("a stopped server disconnects clients and removes the socket")
    @ServiceLoop
    func end() async throws {
        let live = try await LiveServer.start()
        let client = try await live.client()
        #expect(try await client.ask(call("Version"))?.error == nil)
        #expect(await live.stop() == .cancelled)
        #expect(try await client.receive() == nil)
        #expect(live.server.clients == 0)
        await #expect(throws: SocketError.self) { try await live.client() }
    }

    @Test("httpdnsctl can call the server")
    func program() async throws {
        let live = try await LiveServer.start()
        #expect(try await runControl("--socket", live.path, "status").status == 4)
        #expect(
            try await runControl("--socket", live.path, "stats", "--reset").output.hasPrefix(
                "counted for 0 s"
            )
        )
        #expect(
            try await runControl("--socket", live.path, "flush", "--tree", "example.com").output
                == "removed 4 entries\n"
        )
        #expect(
            try await runControl("--socket", live.path, "lookup", "www.example.com").status == 0
        )
        let missing = try await runControl("--socket", live.path, "lookup", "b.example.com", "AAAA")
        #expect(missing.status == 1)
        #expect(missing.errors == "httpdnsctl: not found: b.example.com AAAA\n")
        let wrong = try await runControl("--socket", live.path, "flush", "bad..example.com")
        #expect(wrong.status == 1)
        #expect(wrong.errors == "httpdnsctl: name: empty label\n")
        #expect(try await runControl("--socket", live.path, "version", "--json").status == 0)
        await live.stop()
    }
}
