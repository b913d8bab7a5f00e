// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Dropped privileges", .needs(.python3, .unshare), .hangLimit)
struct PrivilegeTests {
    private static func capabilities(of pid: pid_t) throws -> [String: UInt64] {
        var sums: [String: UInt64] = [:]
        let threads = "/proc/\(pid)/task"
        for thread in try FileManager.default.contentsOfDirectory(atPath: threads) {
            let status: String
            do {
                status = try String(contentsOfFile: "\(threads)/\(thread)/status", encoding: .utf8)
            } catch CocoaError.fileReadNoSuchFile {
                continue
            }
            for line in status.split(separator: "\n") where line.hasPrefix("Cap") {
                let words = line.split(separator: ":\t").map(String.init)
                sums[words[0], default: 0] |= try #require(UInt64(words[1], radix: 16))
            }
        }
        return sums
    }

    private static let binding: UInt64 = 1 << 10

    @Test(
        "a daemon that root starts keeps only CAP_NET_BIND_SERVICE",
        .disabled(if: Child.isWatched, "a thread of the sanitizer keeps its capabilities"),
        arguments: ["off", "auto"]
    )
    func root(_ loopback: String) throws {
        let daemon = try TestDaemon("\(unusedUpstream)\naccelerate: {loopback: \(loopback)}")
        if loopback == "auto" {
            let start = "loading"
            while try JSON(daemon.control("status", "--json").output)["acceleration", "why"].string
                == start
            {}
        }
        let held = try Self.capabilities(of: daemon.program.pid)
        #expect(held["CapPrm"] == Self.binding && held["CapEff"] == Self.binding, "\(held)")
        #expect(held["CapBnd"] == Self.binding, "\(held)")
        #expect(held["CapInh"] == 0 && held["CapAmb"] == 0, "\(held)")
        try daemon.stop()
    }

    @Test("a socket works even if the daemon cannot give the socket to the configured group")
    func foreignGroup() throws {
        let scratch = try Scratch()
        let socket = scratch.file("metrics")
        let daemon = try TestDaemon(
            "metrics: {listen: [\(socket)], group: nogroup}\n\(unusedUpstream)",
            under: ["setpriv", "--clear-groups", "--bounding-set", "-all"]
        )
        _ = try daemon.program.line(with: "cannot give the metrics socket to the group nogroup")
        let scrape = try run(
            "curl",
            ["--silent", "--fail", "--unix-socket", socket, "http://m/metrics"]
        )
        #expect(scrape.output.contains("\nhttpdnsd_build_info{"), "\(scrape)")
        try daemon.stop()
    }

    @Test("after the daemon drops privileges, a reload can still open port 53 of another address")
    func reload() throws {
        let namespace = try Namespace()
        let daemon = try TestDaemon(unusedUpstream, listen: "127.0.0.1:53", in: namespace)
        try daemon.rewrite(unusedUpstream, listen: "127.0.0.1:53", "127.0.0.2:53")
        let reload = try daemon.control("reload")
        #expect(reload.status == 0, "\(reload.errors)")
        let reply = try daemon.dig("localhost", "A", server: "127.0.0.2")
        #expect(reply.data("A") == ["127.0.0.1"])
        try daemon.stop()
    }

    @Test("a daemon that starts without capabilities does not log `cannot drop capabilities`")
    func less() throws {
        let daemon = try TestDaemon(unusedUpstream, under: ["setpriv", "--bounding-set", "-all"])
        let held = try Self.capabilities(of: daemon.program.pid)
        #expect(held.count == 5 && held.values.allSatisfy { $0 == 0 }, "\(held)")
        #expect(!daemon.program.errorText.contains("cannot drop capabilities"))
        try daemon.stop()
    }

    @Test("`check` and `reload` refuse `accelerate.loopback: required` without the capabilities")
    func requiredAcceleration() throws {
        let daemon = try TestDaemon(unusedUpstream, under: ["setpriv", "--bounding-set", "-all"])
        _ = try daemon.program.line(with: "acceleration: off")
        try daemon.rewrite("\(unusedUpstream)\naccelerate: {loopback: required}")
        for verb in ["check", "reload"] {
            let end = try daemon.control(verb)
            #expect(end.status == 1, "\(verb): \(end)")
            #expect(end.errors.contains("this machine would have no DNS"), "\(verb): \(end)")
        }
        try daemon.stop()
    }

    /// Runs a command as with ProtectSystem=strict, RuntimeDirectory= and StateDirectory=
    /// (systemd.exec(5)).
    private static let script = """
        import ctypes, os, struct, sys
        libc = ctypes.CDLL(None, use_errno=True)
        def check(result):
            if result: sys.exit(os.strerror(ctypes.get_errno()))
        check(libc.unshare(0x00020000))
        check(libc.mount(None, b"/", None, 0x44000, None))
        for path in sys.argv[1:3]:
            check(libc.mount(path.encode(), path.encode(), None, 0x1000, None))
        def protect(path, set, clear, flags):
            what = struct.pack("QQQQ", set, clear, 0, 0)
            check(libc.syscall(442, -100, path.encode(), flags, what, len(what)))
        protect("/", 1, 0, 0x8000)
        for path in sys.argv[1:3]: protect(path, 0, 1, 0)
        os.execvp(sys.argv[3], sys.argv[3:])
        """

    @Test("the daemon writes only to its state and runtime directories")
    func readOnly() throws {
        let scratch = try Scratch()
        let directories = [scratch.file("run"), scratch.file("state")]
        for path in directories {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: false
            )
        }
        let command = ["python3", "-c", Self.script] + directories
        func touch(_ file: String) throws -> Child.End {
            try run("python3", command.dropFirst() + ["touch", file])
        }
        #expect(try touch("\(directories[1])/file").status == 0)
        let refusal = try touch(scratch.file("file"))
        #expect(refusal.errors.contains("Read-only file system"), "\(refusal.errors)")

        let snapshot = "\(directories[1])/cache.snapshot"
        let socket = "\(directories[0])/control.sock"
        let upstream = try TestUpstream()
        let settings = "\(upstream.text)\ncache: {snapshot: \(snapshot)}"
        for life in 1...2 {
            let daemon = try TestDaemon(settings, controlledAt: socket, under: command)
            // Without this wait for the restored cache, the upstream may answer the query.
            if life == 2 { _ = try daemon.program.line(with: "cache: entries restored: ") }
            #expect(try daemon.dig("mail.example.org", "A").data("A") == ["198.51.100.26"])
            let stats = try daemon.stats()
            #expect(stats["queries", "by-source", life == 1 ? "upstream" : "cache"].int == 1)
            try daemon.rewrite(settings, listen: "127.0.0.1:0", "[::1]:0")
            #expect(try daemon.control("reload").status == 0)
            #expect(try daemon.dig("mail.example.org", "A").status == "NOERROR")
            try daemon.stop()
            #expect(FileManager.default.fileExists(atPath: snapshot))
            #expect(!daemon.program.errorText.contains("Read-only"), "\(daemon.program.errorText)")
        }
    }
}
