// SPDX-License-Identifier: Apache-2.0
import Foundation
import TestWorld
import Testing

@testable import Control
@testable import httpdnsctl

private let httpdnsctl = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent().appendingPathComponent("httpdnsctl").path

func runControl(in folder: String, _ arguments: String...) async throws -> ProgramRun {
    try await run("/bin/sh", ["-c", "cd \"$0\" && exec \"$@\"", folder, httpdnsctl] + arguments)
}

@Suite("Program httpdnsctl")
struct ProgramTests {
    func daemon() throws -> ScriptedDaemon {
        try ScriptedDaemon { call in
            switch ControlInterface.Method(fullName: call.method) {
            case .status:
                var status = Samples.status
                status.state = .ready
                status.problems = []
                return .results(status)
            case .stats: return .results(Samples.stats)
            case .flush:
                let known: [FlushRequest.Scope: Int] = [
                    .all: 5, .name("a.example.com", type: nil): 2,
                    .name("a.example.com", type: "AAAA"): 1, .tree("example.com"): 4, .negative: 3,
                    .stale: 7, .source("tencent"): 8,
                ]
                guard let request = try? call.arguments(as: FlushRequest.self),
                    let count = (try? request.scope()).map({ known[$0] ?? -1 })
                else { return .close }
                return .results(
                    request.soft == true
                        ? FlushReply(removed: 0, marked: count) : FlushReply(removed: count)
                )
            case .lookup: return .results(Samples.lookup)
            case .explain:
                let request = try? call.arguments(as: ExplainRequest.self)
                return .results(request?.live == true ? Samples.explained : Samples.foretold)
            case .resolve:
                guard call.more, let request = try? call.arguments(as: ResolveRequest.self) else {
                    return .close
                }
                return .octets(Self.resolved(request))
            case .dump:
                #expect(call.more)
                let parts = try? Reply.message(results: Samples.dump, continues: true)
                let last = try? Reply.message(results: DumpReply(entries: [], total: 2))
                return .octets((parts ?? []) + (last ?? []))
            case .top:
                guard let request = try? call.arguments(as: TopRequest.self),
                    (try? request.selection()) != nil
                else { return .error(.invalidArgument(argument: "kind", reason: "none")) }
                switch TopRequest.Kind(rawValue: request.kind) {
                case .slow: return .results(Samples.slowest)
                case .names, .clients: return .results(Samples.counts(.names))
                case .misses, .fallback: return .results(Samples.counts(.fallback))
                case .cost, nil: break
                }
                var reply = Samples.top
                reply.entries = Array(reply.entries.prefix(request.count ?? 10))
                return .results(reply)
            case .bill: return .results(Samples.bill)
            case .prove: return .results(Samples.proved)
            case .watch:
                #expect(call.more)
                let replies = try? Reply.message(results: Samples.watch, continues: true)
                let last = try? Reply.message(results: WatchReply(queries: []))
                return .octets((replies ?? []) + (last ?? []))
            case .pause: return .results(Samples.paused)
            case .resume: return .results(Samples.resumed)
            case .reload: return .results(Samples.reloaded)
            case .check:
                guard let request = try? call.arguments(as: CheckRequest.self) else {
                    return .close
                }
                return .results(request.text == nil ? Samples.reloaded : Samples.rejected)
            case .settings: return .results(Samples.settings)
            case .routes: return .results(Samples.routes)
            case .portal:
                let request = try? call.arguments(as: PortalRequest.self)
                return .results(
                    PortalReply(
                        active: request?.off != true,
                        seconds: request?.forSeconds ?? 180,
                        servers: ["192.0.2.1"]
                    )
                )
            case .logLevel:
                let level = try? call.arguments(as: LogLevelRequest.self).level
                return .results(LogLevelReply(level: level ?? "info", settingsLevel: "info"))
            case .version: return .results(Samples.version)
            case nil: return .error(.methodNotFound(call.method))
            }
        }
    }

    private static func resolved(_ request: ResolveRequest) -> [UInt8] {
        var octets: [UInt8] = []
        for name in request.names {
            var result = Samples.resolved.results[0]
            result.name = name
            result.type = request.type ?? "A"
            if name.hasSuffix("example.org") { (result.rcode, result.records) = ("nxdomain", []) }
            let reply = ResolveReply(results: [result])
            octets += (try? Reply.message(results: reply, continues: true)) ?? []
        }
        return octets + ((try? Reply.message(results: ResolveReply(results: []))) ?? [])
    }

    @Test(
        "`resolve` accepts names and types as arguments, and names from standard input",
        arguments: [
            (["a.example.com"], ["a.example.com A"], 0),
            (
                ["a.example.com", "b.example.com", "aaaa"],
                ["a.example.com AAAA", "b.example.com AAAA"], 0
            ),
            (["a.example.com", "aaaa."], ["a.example.com A", "aaaa. A"], 0),
            (["--type", "MX", "a.example.com", "mx"], ["a.example.com MX", "mx MX"], 0),
            (["a.example.com", "a.example.org"], ["a.example.com A", "a.example.org A"], 1),
            (["-"], [], 2), (["-", "mx.example.com", "TXT"], ["mx.example.com TXT"], 0),
        ] as [([String], [String], Int32)]
    )
    func resolve(_ arguments: [String], _ asked: [String], _ status: Int32) async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let run = try await runControl(["--socket", daemon.path, "--json", "resolve"] + arguments)
        #expect(run.status == status, "\(run.errors)")
        guard status != 2 else { return }
        let results = try run.output.split(separator: "\n").map {
            try JSONText.decode(Resolved.self, from: Array($0.utf8))
        }
        #expect(results.map { "\($0.name) \($0.type.uppercased())" } == asked)
    }

    private static let commands = [
        "status", "stats", "top", "watch", "lookup", "explain", "resolve", "dump", "flush", "pause",
        "resume", "reload", "check", "settings", "routes", "log-level", "portal", "setup", "doctor",
        "version",
        "completion",
    ]

    @Test("the help of each command fits 80 columns")
    func helpWidth() async throws {
        for command in [nil] + Self.commands {
            let run = try await runControl((command.map { [$0] } ?? []) + ["--help"])
            #expect(run.status == 0)
            for line in run.output.split(separator: "\n") {
                #expect(line.count <= 80, "\(line)")
            }
        }
    }

    @Test("`resolve` splits many names into calls of limited size")
    func manyNames() async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        // These names have the maximum length in JSON: five characters for each octet of a label.
        let label = { String(repeating: "\\000", count: $0) }
        let names = (0..<100).map { "\(label(63)).\(label(63)).\(label(63)).\(label(50)).n\($0)" }
        let run = try await runControl(["--socket", daemon.path, "--json", "resolve"] + names)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.split(separator: "\n").count == 100)
    }

    @Test("`check FILE` prints every error and exits with 1")
    func check() async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let file = "/tmp/httpdnsctl-check-\(UInt32.random(in: 0 ... .max)).yaml"
        try "cahce: {}\n".write(toFile: file, atomically: false, encoding: .utf8)
        defer { unlink(file) }
        var run = try await runControl("--socket", daemon.path, "check", file)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(
            run.errors == """
                httpdnsd.yaml:1:1: unknown key `cahce` (did you mean `cache`?)
                httpdnsd.yaml: cannot listen
                httpdnsctl: the settings have errors

                """
        )
        run = try await runControl("--socket", daemon.path, "--json", "check", file)
        #expect(run.status == 1)
        #expect(run.output.contains("\"did you mean `cache`?\""))
        run = try await runControl("--socket", daemon.path, "check", file + ".missing")
        #expect(run.status == 1)
        #expect(run.errors.contains("No such file"))
    }

    @Test("`check FILE` refuses a pipe, a device and a directory, but accepts standard input")
    func checkOther() async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try #require(mkfifo(folder + "/pipe", 0o600) == 0)
        for file in [folder + "/pipe", folder, "/dev/null"] {
            // Without the time limit, a program could wait forever for a writer of the pipe.
            let command = [httpdnsctl, "--socket", daemon.path, "check", file]
            let outcome = try #require(Subprocess.run(command, within: .seconds(10)))
            #expect(outcome.status == 1, "\(file)")
            let message = "httpdnsctl: \(file) is not a regular file\nhint: "
            #expect(outcome.output.hasPrefix(message), "\(outcome.output)")
        }
        let run = try await runControl("--socket", daemon.path, "check", "/dev/stdin")
        #expect(run.errors.hasSuffix("httpdnsctl: the settings have errors\n"), "\(run.errors)")
    }

    @Test("every verb exits with 0 and prints the daemon's reply as text")
    func verbs() async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let plain = Palette(isEnabled: false)
        var run = try await runControl("--socket", daemon.path, "status")
        #expect(run.status == 0)
        #expect(run.output.hasPrefix("httpdnsd 0.1.0  READY  up 3 d 4 h  pid 4711\n"))
        #expect(run.errors.isEmpty)
        run = try await runControl("stats", "--socket", daemon.path)
        #expect(run.status == 0)
        #expect(run.output == StatsText.render(Samples.stats, plain))
        run = try await runControl("lookup", "www.example.com", "--socket", daemon.path)
        #expect(run.status == 0)
        #expect(run.output == LookupText.render(Samples.lookup, plain))
        run = try await runControl("explain", "www.example.com", "--socket", daemon.path)
        #expect(run.status == 0)
        #expect(run.output == ExplainText.render(Samples.foretold, plain))
        run = try await runControl("explain", "www.example.com", "--live", "--socket", daemon.path)
        #expect(run.output == ExplainText.render(Samples.explained, plain))
        run = try await runControl("resolve", "www.example.com.", "--socket", daemon.path)
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(
            run.output == ResolveText.heading
                + ResolveText.render(Samples.resolved.results[0], plain)
        )
        run = try await runControl("dump", "--socket", daemon.path)
        #expect(run.status == 0 && run.errors.isEmpty)
        #expect(run.output == Samples.dump.entries.map(DumpText.render).joined())
        run = try await runControl("dump", "--json", "--socket", daemon.path)
        let lines = run.output.split(separator: "\n")
        #expect(
            try lines.map { try JSONText.decode(CachedEntry.self, from: Array($0.utf8)) }
                == Samples.dump.entries
        )
        run = try await runControl("top", "cost", "--socket", daemon.path)
        #expect(run.status == 0)
        #expect(run.output == TopText.costs(Samples.top, plain))
        run = try await runControl("top", "names", "--socket", daemon.path)
        #expect(run.output == TopText.counts(Samples.counts(.names), plain))
        run = try await runControl("top", "fallback", "--socket", daemon.path)
        #expect(run.output == TopText.counts(Samples.counts(.fallback), plain))
        run = try await runControl("top", "slow", "--socket", daemon.path)
        #expect(run.output == TopText.slowest(Samples.slowest, plain))
        run = try await runControl("watch", "--socket", daemon.path)
        #expect(run.status == 0)
        #expect(run.output == QueryText.heading + QueryText.render(Samples.watch, plain))
        run = try await runControl("watch", "--json", "--socket", daemon.path)
        #expect(run.output.split(separator: "\n").count == 1)
        for count in [["-n", "1"], ["--count", "1"]] {
            run = try await runControl(["--socket", daemon.path, "top", "cost"] + count)
            #expect(run.output.contains("www.example.com.") && !run.output.contains("example.org"))
        }
        run = try await runControl("--socket", daemon.path, "pause", "tencent")
        #expect(run.status == 0)
        #expect(run.output == PauseText.render(Samples.paused, isPause: true))
        run = try await runControl("--socket", daemon.path, "resume", "tencent")
        #expect(run.status == 0)
        #expect(run.output == PauseText.render(Samples.resumed, isPause: false))
        for verb in ["reload", "check"] {
            run = try await runControl("--socket", daemon.path, verb)
            #expect(run.status == 0)
            #expect(run.output == ReloadText.render(Samples.reloaded, plain))
        }
        run = try await runControl("--socket", "/nowhere", "version", "--socket", daemon.path)
        #expect(run.status == 0)
        #expect(run.output == VersionText.render(Samples.version, plain))
    }

    @Test(
        "`flush` sends the scope that its arguments select",
        arguments: [
            (["--all"], "removed 5 entries\n"), (["a.example.com"], "removed 2 entries\n"),
            (["a.example.com", "AAAA"], "removed 1 entry\n"),
            (["--tree", "example.com"], "removed 4 entries\n"),
            (["--negative"], "removed 3 entries\n"), (["--stale"], "removed 7 entries\n"),
            (["--source", "tencent"], "removed 8 entries\n"),
            (["--soft", "--tree", "example.com"], "marked 4 entries stale\n"),
            (["a.example.com", "AAAA", "--soft"], "marked 1 entry stale\n"),
        ]
    )
    func flush(_ arguments: [String], _ expected: String) async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let run = try await runControl(["--socket", daemon.path, "flush"] + arguments)
        #expect(run.status == 0)
        #expect(run.output == expected)
    }

    @Test("--json prints keys in sorted order, including keys that the program does not know")
    func json() async throws {
        let daemon = try ScriptedDaemon { _ in
            .octets(Array(#"{"parameters":{"removed":3,"b-new":{"z":1,"a":"\u009b"}}}"#.utf8) + [0])
        }
        defer { daemon.stop() }
        for arguments in [["--json", "flush", "--all"], ["flush", "--all", "--json"]] {
            let run = try await runControl(["--socket", daemon.path] + arguments)
            #expect(run.status == 0)
            let lines = run.output.split(separator: "\n").map { $0.drop { $0 == " " } }
            #expect(
                lines == [
                    "{", #""b-new" : {"#, #""a" : "\u009b","#, #""z" : 1"#, "},",
                    #""removed" : 3"#, "}",
                ]
            )
        }
    }

    @Test("if the daemon is degraded, `status` exits with 4")
    func degraded() async throws {
        let daemon = try ScriptedDaemon { _ in .results(Samples.status) }
        defer { daemon.stop() }
        for arguments in [["status"], ["status", "--json"]] {
            let run = try await runControl(["--socket", daemon.path] + arguments)
            #expect(run.status == 4)
            #expect(run.output.contains("1 of 2 servers does not answer"))
        }
    }

    @Test("a failed verb exits with 1 and prints the reason")
    func failed() async throws {
        let daemon = try ScriptedDaemon { call in
            call.method.hasSuffix("Lookup")
                ? .error(.notFound(what: "a.example.com"))
                : .error(.denied(reason: "only for root\u{1B}[2J"))
        }
        defer { daemon.stop() }
        var run = try await runControl("--socket", daemon.path, "lookup", "a.example.com")
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors == "httpdnsctl: not found: a.example.com\n")
        run = try await runControl("--socket", daemon.path, "flush", "--all")
        #expect(run.status == 1)
        #expect(run.errors == "httpdnsctl: denied: only for root\\u{1b}[2J\n")
    }

    @Test(
        "with a wrong command line, httpdnsctl exits with 2 and does not call the daemon",
        arguments: [
            [], ["dance"], ["status", "now"], ["lookup"], ["flush"], ["flush", "a", "--all"],
            ["flush", "--all", "--negative"], ["flush", "--soft"], ["flush", "--tree"],
            ["flush", "a", "b", "c"],
            ["stats", "--watch", "0"], ["stats", "--watch", "soon"], ["stats", "--frequently"],
            ["stats", "--watch", "1", "--reset"], ["top"], ["top", "cost", "-n", "0"],
            ["top", "cost", "-n", "1025"], ["watch", "-n", "0"], ["watch", "--slower", "-1"],
            ["pause"], ["pause", "a", "b"], ["resume"],
            ["status", "--socket", String(repeating: "x", count: 200)],
        ]
    )
    func usage(_ arguments: [String]) async throws {
        let run = try await runControl(arguments)
        #expect(run.status == 2)
        #expect(run.output.isEmpty)
        #expect(!run.errors.isEmpty)
    }

    private func slow(_ version: VersionReply?) throws -> ScriptedDaemon {
        let calls = DispatchSemaphore(value: 0)
        return try ScriptedDaemon { call in
            switch ControlInterface.Method(fullName: call.method) {
            case .reload:
                calls.wait()
                calls.wait()
                return .results(ReloadReply(applied: true))
            case .version:
                calls.signal()
                return version.map { .results($0) } ?? .close
            default: return .close
            }
        }
    }

    @Test("`reload` waits for a slow reload while the daemon answers other calls")
    func slowReload() throws {
        let daemon = try slow(Samples.version)
        defer { daemon.stop() }
        let client = ControlClient(socket: daemon.path, limit: .seconds(2))
        nonisolated(unsafe) var reports = 0
        let reply = try client.slowCall(.reload) { _ in reports += 1 }
        #expect(try reply.results(as: ReloadReply.self).applied)
        #expect(reports == 2)
    }

    @Test("if the daemon hangs, `reload` reports that the result is unknown")
    func hungReload() throws {
        let daemon = try slow(nil)
        defer { daemon.stop() }
        let client = ControlClient(socket: daemon.path, limit: .milliseconds(100))
        let failure = #expect(throws: Failure.self) { try client.slowCall(.reload) { _ in } }
        #expect(failure?.status == .unreachable)
        #expect(failure?.message.hasPrefix("Reload: no reply, and the daemon does not") == true)
        #expect(failure?.hint?.hasPrefix("the call may have taken effect") == true)
    }

    @Test("if the daemon sends no first reply in time, a stream ends with an error")
    func hungStream() throws {
        let release = DispatchSemaphore(value: 0)
        let daemon = try ScriptedDaemon { _ in
            release.wait()
            return .close
        }
        defer {
            release.signal()
            daemon.stop()
        }
        let client = ControlClient(socket: daemon.path, limit: .milliseconds(100))
        let failure = #expect(throws: Failure.self) {
            try client.stream(.watch, WatchRequest()) { (_: Reply) throws(Failure) in }
        }
        #expect(failure?.status == .unreachable)
        #expect(failure?.message.hasPrefix("no reply on") == true)
    }

    @Test("with closed standard output, httpdnsctl exits with 1")
    func closedOutput() async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let arguments = [httpdnsctl, "--socket", daemon.path, "stats"]
        let closed = try await run("/bin/sh", ["-c", "exec \"$0\" \"$@\" >&-"] + arguments)
        #expect(closed.status == 1)
        #expect(closed.errors.contains("cannot write the output: Bad file"), "\(closed.errors)")
    }

    @Test("if the daemon does not run, httpdnsctl exits with 3")
    func unreachable() async throws {
        let folder = try temporaryFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let missing = try await runControl("--socket", folder + "/none.sock", "status")
        #expect(missing.status == 3)
        #expect(missing.errors.contains("there is no socket \(folder)/none.sock\nhint: "))

        let file = folder + "/file"
        try "text".write(toFile: file, atomically: false, encoding: .utf8)
        let wrong = try await runControl("--socket", file, "status")
        #expect(wrong.status == 3)
        #expect(wrong.errors.contains("\(file) is not a socket\nhint: "))
        let relative = try await runControl(in: folder, "--socket", "file", "status")
        #expect(relative.errors.contains(": file is not a socket\nhint: "), "\(relative.errors)")
        let directory = try await runControl("--socket", folder, "status")
        #expect(directory.status == 3)
        #expect(
            directory.errors.contains(": \(folder) is a directory, not a socket\nhint: "),
            "\(directory.errors)"
        )

        let dead = folder + "/dead.sock"
        close(try unixSocket(dead) { bind($0, $1, $2) == 0 })
        let refused = try await runControl("--socket", dead, "status")
        #expect(refused.status == 3)
        #expect(refused.errors.contains("nothing listens on \(dead)\nhint: "))
    }

    @Test("if the daemon disconnects, httpdnsctl exits with 3; after an invalid reply, with 1")
    func nonsense() async throws {
        let closing = try ScriptedDaemon { _ in .close }
        defer { closing.stop() }
        let closed = try await runControl("--socket", closing.path, "status")
        #expect(closed.status == 3)
        #expect(closed.errors.contains("closed the connection"))

        for octets in [Array("HTTP/1.1 400\r\n\0".utf8), [0], [0xFF, 0], Array("{}".utf8) + [0]] {
            let daemon = try ScriptedDaemon { _ in .octets(octets) }
            defer { daemon.stop() }
            let run = try await runControl("--socket", daemon.path, "status")
            #expect(run.status == 1)
            #expect(run.errors.hasPrefix("httpdnsctl: "))
        }
    }

    @Test("--help and --version exit with 0")
    func help() async throws {
        for verb in [
            "status", "stats", "top", "lookup", "flush", "pause", "resume", "setup",
            "doctor", "version",
        ] {
            let run = try await runControl(verb, "--help")
            #expect(run.status == 0)
            #expect(run.output.contains("EXAMPLES\n  httpdnsctl \(verb)"))
        }
        let run = try await runControl("--version")
        #expect(run.status == 0)
        #expect(run.output == "httpdnsctl \(Product.version)\n")
    }

    @Test("stats --watch shows each reply until the connection ends")
    func watch() async throws {
        let replies = try (0..<2).flatMap { _ in
            try Reply.message(results: Samples.stats, continues: true)
        }
        let daemon = try ScriptedDaemon { call in
            #expect(call.more)
            #expect(call.parameters == ["every-seconds": .integer(1)])
            return .last(replies)
        }
        defer { daemon.stop() }
        let run = try await runControl("--socket", daemon.path, "stats", "--watch", "1")
        #expect(run.status == 3)
        #expect(run.output.contains("no changes\nnow: 3 misses in flight"))
    }

    @Test(
        "with `--json`, httpdnsctl prints every failure as an object on standard output",
        arguments: [
            (["--socket", "/nowhere/control.sock", "--json", "status"], "unreachable", 3),
            (["--json", "status", "surplus"], "usage", 2),
            (["--json", "sttaus"], "usage", 2),
            (["--json", "watch", "--slower", "soon"], "usage", 2),
        ] as [([String], String, Int32)]
    )
    func failures(_ arguments: [String], _ name: String, _ status: Int32) async throws {
        let run = try await runControl(arguments)
        #expect(run.status == status)
        #expect(run.errors.isEmpty)
        let report = try JSONText.decode(JSONValue.self, from: Array(run.output.utf8))
        #expect(report["error"]?["name"]?.text == name, "\(run.output)")
        #expect(report["error"]?["message"]?.text?.isEmpty == false)
    }

    @Test("with `--json`, an error object has the full name of the daemon's error")
    func daemonsError() async throws {
        let daemon = try ScriptedDaemon { _ in .error(.notFound(what: "route of a.example")) }
        defer { daemon.stop() }
        let run = try await runControl("--socket", daemon.path, "--json", "routes", "a.example")
        #expect(run.status == 1 && run.errors.isEmpty)
        #expect(
            run.output == #"{"error":{"message":"not found: route of a.example","#
                + #""name":"io.httpdnsd.Control.NotFound"}}"# + "\n"
        )
    }

    @Test("for a mistyped verb, httpdnsctl suggests the nearest verb")
    func mistypedVerb() async throws {
        let run = try await runControl("sttaus")
        #expect(run.status == 2)
        #expect(
            run.errors == "httpdnsctl: unknown command `sttaus`\nhint: did you mean `status`?\n"
        )
    }

    @Test("`settings`, `routes` and `log-level` print the daemon's replies")
    func inspection() async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let settings = try await runControl("--socket", daemon.path, "settings")
        #expect(settings.output == Samples.settings.text)
        let routes = try await runControl("--socket", daemon.path, "routes")
        #expect(routes.output.contains("example.com, =www.example.org  tencent, alibaba  upstream"))
        #expect(routes.output.contains("except: own.example.com"))
        let level = try await runControl("--socket", daemon.path, "log-level", "debug")
        #expect(level.output == "debug (settings: info)\n")
        let json = try await runControl("--socket", daemon.path, "--json", "log-level")
        #expect(json.output.contains(#""settings-level" : "info""#))
    }

    @Test("`portal` prints its duration and servers, and rejects an invalid duration")
    func portal() async throws {
        let daemon = try daemon()
        defer { daemon.stop() }
        let on = try await runControl("--socket", daemon.path, "portal", "--for", "10m")
        #expect(
            on.output.contains("on for 10 min") && on.output.contains("192.0.2.1"),
            "\(on.output)"
        )
        let off = try await runControl("--socket", daemon.path, "portal", "--off")
        #expect(off.output == "captive portal mode: off\n")
        for words in [
            ["--for", "31m"], ["--for", "0"], ["--for", "x"], ["--for", "3m", "--off"],
        ] {
            let arguments = ["--socket", daemon.path, "portal"] + words
            #expect(try await runControl(arguments).status == 2, "\(words)")
        }
    }

    @Test(
        "a completion script contains fixed values, and calls httpdnsctl for all other values",
        arguments: ["bash", "zsh", "fish"]
    )
    func completions(_ shell: String) async throws {
        let script = try await runControl("completion", shell).output
        #expect(script.contains("misses") && script.contains("fallback"))
        #expect(script.contains("nxdomain") && script.contains("critical"))
        #expect(script.contains("---completion"))
    }

    @Test("flush --help wraps lines only at the margin")
    func flushHelp() async throws {
        let help = try await runControl("flush", "--help").output
        let start = try #require(help.firstRange(of: "The next query")).lowerBound
        let end = try #require(help.firstRange(of: "EXAMPLES")).lowerBound
        let lines = help[start..<end].split(separator: "\n")
        #expect(lines.count > 1)
        for (line, next) in zip(lines, lines.dropFirst()) {
            let word = next.prefix { $0 != " " }
            #expect(line.count + 1 + word.count >= 80, "\(line)")
        }
    }
}
