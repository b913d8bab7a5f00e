// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Settings", .hangLimit)
struct SettingsTests {
    private func daemon(_ settings: String, _ options: String...) throws -> Child.End {
        let scratch = try Scratch()
        let file = try scratch.write(settings, to: "httpdnsd.yaml")
        return try run(Product.daemon, ["--config", file] + options)
    }

    @Test("--check prints every error with its position and exits with 2")
    func errors() throws {
        let end = try daemon(
            """
            listen: ["127.0.0.1:99999"]
            cache: {size: 1KiB, maximum-tll: 1d}
            vendors: {}
            routes:
              - domains: [example.com]
                vendors: [unknown]
            """,
            "--check"
        )
        #expect(end.status == 2 && end.output.isEmpty)
        let lines = end.errors.split(separator: "\n").map(String.init)
        for place in ["1:10", "2:15", "2:21", "6:15"] {
            #expect(lines.contains { $0.contains("httpdnsd.yaml:\(place): ") }, "\(end.errors)")
        }
        #expect(end.errors.contains("did you mean `maximum-ttl`?"), "\(end.errors)")
    }

    @Test("--check prints ok and exits with 0")
    func fine() throws {
        let end = try daemon("upstreams: [{name: isp, url: \"udp://192.0.2.53\"}]", "--check")
        #expect(end.status == 0 && end.output == "ok\n" && end.errors.isEmpty, "\(end.errors)")
    }

    @Test("--check warns that the hosts files exceed a limit")
    func hosts() throws {
        let scratch = try Scratch()
        let names = (0...200_000).map { " ad\($0)" }.joined()
        let list = try scratch.write("0.0.0.0\(names)\n", to: "list")
        let text =
            "upstreams: [{name: isp, url: \"udp://192.0.2.53\"}]\nhosts: {files: [\(list)]}\n"
        let file = try scratch.write(text, to: "httpdnsd.yaml")
        let end = try run(Product.daemon, ["--check", "--config", file])
        #expect(end.status == 0 && end.output == "ok\n")
        let warning =
            "warning: \(file): hosts: the table has its maximum of 200000 names, ignoring 1 "
        #expect(end.errors == "\(warning)entries (the first in \(list))\n")
    }

    @Test(
        "if httpdnsd cannot write its output, it exits with an error",
        arguments: ["--print-config", "--print-schema", "--print-manual", "--help", "--version"]
    )
    func fullDisk(option: String) throws {
        let end = try run("sh", ["-c", "\"$0\" \"$1\" > /dev/full", Product.daemon, option])
        #expect(end.status == 1)
        #expect(end.errors == "cannot write the output: write: No space left on device\n")
    }

    @Test(
        "if /proc is not mounted, each program prints an error and exits with 2",
        .needs(.unshare),
        arguments: [Product.daemon, Product.control, Product.emulator]
    )
    func noProc(program: String) throws {
        let script = "mount -t tmpfs none /proc && exec \"$0\" --version"
        let end = try run("unshare", ["--mount", "sh", "-c", script, program])
        #expect(end.status == 2 && end.output.isEmpty)
        #expect(end.errors.contains("cannot read the arguments, because /proc is not mounted"))
    }

    @Test("--print-config without a file prints the content of config/httpdnsd.yaml")
    func manual() throws {
        let end = try run(Product.daemon, ["--print-config"])
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../config/httpdnsd.yaml").standardized.path
        let isSame = try end.output == String(contentsOfFile: file, encoding: .utf8)
        #expect(end.status == 0 && isSame)
        let check = try run(Product.daemon, ["--config", file, "--check"])
        #expect(check.status == 0 && check.output == "ok\n", "\(check.errors)")
        let again = try daemon(end.output, "--print-config")
        #expect(again.status == 0, "\(again.errors)")
        let effective = try daemon(again.output, "--print-config")
        #expect(effective.output == again.output)
    }

    @Test("the error for a missing settings file names the file")
    func missing() throws {
        let end = try run(Product.daemon, ["--config", "/nonexistent/httpdnsd.yaml"])
        #expect(end.status == 2 && end.errors.contains("/nonexistent/httpdnsd.yaml"))
    }

    @Test("without memory for the cache, the error names `cache.size`, and the exit code is 1")
    func refusedCache() throws {
        let settings = """
            listen: ["127.0.0.1:0"]
            cache: {size: 32GiB}
            upstreams: [{name: isp, url: "udp://127.0.0.1:9"}]
            """
        let scratch = try Scratch()
        let file = try scratch.write(settings, to: "httpdnsd.yaml")
        let limit = "--as=\(16 << 30)"
        let end = try run("prlimit", [limit, Product.daemon, "--config", file])
        #expect(end.status == 1 && end.errors.contains("reduce `cache.size`"), "\(end.errors)")
    }

    @Test("the daemon opens closed standard descriptors as /dev/null")
    func closedDescriptors() throws {
        let scratch = try Scratch()
        let socket = scratch.file("control.sock")
        let settings = """
            listen: ["127.0.0.1:0"]
            control: {socket: \(socket), group: "\(getgid())"}
            upstreams: [{name: isp, url: "udp://127.0.0.1:9"}]
            """
        let file = try scratch.write(settings, to: "httpdnsd.yaml")
        let script = "exec \"$0\" --config \"$1\" 0<&- 1>&- 2>&-"
        let daemon = try Child("sh", ["-c", script, Product.daemon, file])
        while !FileManager.default.fileExists(atPath: socket) { sched_yield() }
        for number in 0...2 {
            let link = "/proc/\(daemon.pid)/fd/\(number)"
            let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
            #expect(target == "/dev/null")
        }
        #expect(try daemon.stop().status == 0)
    }

    @Test(
        "the error for a port in use names the port, and the exit code is 1",
        arguments: [false, true]
    )
    func taken(isDatagram: Bool) throws {
        let socket = try Socket(isDatagram ? .datagram : .stream, bound: true)
        if !isDatagram { try socket.listen() }
        let scratch = try Scratch()
        let end = try daemon(
            """
            listen: ["127.0.0.1:\(socket.port)"]
            control: {socket: \(scratch.file("control.sock"))}
            upstreams: [{name: isp, url: "udp://192.0.2.53"}]
            """
        )
        #expect(end.status == 1)
        #expect(end.errors.contains("127.0.0.1:\(socket.port)"), "\(end.errors)")
        #expect(end.errors.contains("address already in use"), "\(end.errors)")
    }

    @Test(
        "SIGTERM and SIGINT end the daemon without waiting for queries",
        arguments: [SIGTERM, SIGINT]
    )
    func draining(signal: Int32) throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(
            "upstreams: [{name: silent, url: \"udp://127.0.0.1:\(upstream.port)\"}]"
        )
        let client = try Socket(.datagram, to: daemon.port)
        try client.send(RawMessage.query("slow.example.org"))
        _ = try upstream.receive()
        daemon.program.send(signal)
        let end = try daemon.program.end()
        #expect(end.status == 0, "\(end.errors)")
        #expect(client.isSilent, "no SERVFAIL, which would come after 4.8 s")
    }

    @Test("if the upstream answers while the daemon stops, the client gets the answer")
    func answered() throws {
        let upstream = try Socket(.datagram, bound: true)
        let daemon = try TestDaemon(
            "upstreams: [{name: slow, url: \"udp://127.0.0.1:\(upstream.port)\"}]"
        )
        let client = try Socket(.datagram, to: daemon.port)
        try client.send(RawMessage.query("slow.example.org"))
        _ = try upstream.serveOne { query in
            daemon.program.send(SIGTERM)
            _ = try? daemon.program.line(with: "stopping")
            return RawMessage.denial(of: query)
        }
        #expect(RawMessage.rcode(try client.receive()) == 3)
        #expect(try daemon.program.end().status == 0)
    }
}
