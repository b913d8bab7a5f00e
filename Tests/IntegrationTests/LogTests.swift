// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private final class TestJournal: Sendable {
    let namespace: Namespace
    private let program: Child

    init() throws {
        namespace = try Namespace()
        let script = """
            import array, os, socket, sys
            place = "/run/systemd/journal"
            os.system("mount -t tmpfs tmpfs /run")
            os.makedirs(place)
            journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            journal.bind(place + "/socket")
            print("listening", flush=True)
            while True:
                text = journal.recv(1 << 16)
                fields = {}
                while text:
                    line, _, text = text.partition(b"\\n")
                    name, equals, value = line.partition(b"=")
                    if not equals:
                        size = int.from_bytes(text[:8], "little")
                        value, text = text[8:8 + size], text[9 + size:]
                    fields[name.decode()] = value.decode()
                print(ascii(fields), flush=True)
            """
        program = try Child("python3", ["-c", script], in: namespace)
        _ = try program.line(with: "listening")
    }

    func entry(with text: String) throws -> String { try program.line(with: text) }
}

@Suite("The log", .needs(.dig, .nsd, .curl), .hangLimit)
struct LogTests {
    @Test("the query log has one line per query")
    func queries() throws {
        let harness = try ProgramHarness(settings: "log: {queries: true}")
        let names = ["www.example.com", "four.example.com", "three.example.org"]
        for name in names {
            _ = try harness.daemon.dig(name, "A")
            _ = try harness.daemon.dig(name, "A", "+tcp")
        }
        try harness.daemon.stop()
        let lines = harness.daemon.program.errorText.split(separator: "\n").filter {
            $0.contains("info: query ")
        }
        #expect(lines.count == 2 * names.count)
        for name in names { #expect(lines.count { $0.contains("name=\(name). ") } == 2) }
        for (source, transport, count) in [
            ("cache", "tcp", 3), ("vendor", "udp", 2), ("upstream", "udp", 1),
        ] {
            let found = lines.count {
                $0.contains(" source=\(source) ") && $0.contains(" transport=\(transport)")
            }
            #expect(found == count, "\(source)")
        }
        // All answers are unprotected, because the upstream is not encrypted, and the vendor's
        // channel does not authenticate the server.
        #expect(lines.count { $0.contains("unprotected=yes") } == 2 * names.count)
        for line in lines {
            #expect(line.contains(" client=127.0.0.1 ") && line.contains(" rcode=noerror "))
        }
    }

    @Test("names cannot forge log fields or lines")
    func hostile() throws {
        let harness = try ProgramHarness(settings: "log: {queries: true}")
        let labels = [
            "\u{1B}[2J\u{1B}]0;owned\u{7}", "a\nhttpdnsd: error", "x level=critical", "\u{202E}txt",
            "\"quoted\" \\", "\u{0}\u{7F}\u{9B}31m",
        ]
        for label in labels {
            let octets = Array(label.utf8)
            var message = RawMessage.query("example.org")
            message.insert(contentsOf: [UInt8(octets.count)] + octets, at: 12)
            let socket = try Socket(.datagram, to: harness.daemon.port)
            try socket.send(message)
            _ = try socket.receive()
        }
        _ = try harness.daemon.dig("last.example.org", "A")
        _ = try harness.daemon.program.line(with: "name=last.example.org.")
        try harness.daemon.stop()
        let text = harness.daemon.program.errorText
        let isHarmless = text.unicodeScalars.allSatisfy {
            $0 == "\n" || (0x20...0x7E).contains($0.value)
        }
        #expect(isHarmless, "\(text.debugDescription)")
        let lines = text.split(separator: "\n")
        #expect(lines.count { $0.contains("info: query ") } == labels.count + 1)
        for line in lines where line.contains("info: query ") {
            let bare = line.replacing(/"(?:[^"\\]|\\.)*"/, with: "")
            #expect(bare.split(separator: " ").count { $0.hasPrefix("level=") } == 0, "\(line)")
        }
    }

    @Test(
        "the daemon logs a failure of a vendor once, together with the consequence",
        .timeLimit(.minutes(15))
    )
    func failures() throws {
        let harness = try ProgramHarness(firstFaults: ["status=500"])
        for number in 0..<3 { _ = try harness.daemon.dig("\(number).many.example.com", "A") }
        let line = try harness.daemon.program.line(with: "warning: vendor tencent: ")
        #expect(line.contains("trying \(harness.emulator.address)"), "\(line)")
        #expect(line.contains("error=server-status") && line.contains("vendor=tencent"), "\(line)")
        // On SIGUSR1, the daemon logs recent lines, including lines below the log level.
        harness.daemon.program.send(SIGUSR2)
        harness.daemon.program.send(SIGALRM)
        harness.daemon.program.send(SIGUSR1)
        _ = try harness.daemon.program.line(with: "latest 3 queries that the cache")
        _ = try harness.daemon.program.line(with: "name=2.many.example.com.")
        try harness.daemon.stop()
        let lines = harness.daemon.program.errorText.split(separator: "\n")
        let told = lines.filter { $0.contains("warning: vendor tencent: ") }
        #expect(told.count { !$0.contains("| ") } == 1)
        #expect(told.count { $0.contains("info: | ") } == 3)
    }

    @Test("if a vendor refuses the account, the log line shows the time of the next attempt")
    func refused() throws {
        let harness = try ProgramHarness(faults: ["status=403"])
        _ = try harness.daemon.dig("www.example.com", "A")
        let line = try harness.daemon.program.line(with: "account refused")
        #expect(line.contains("next attempt in 60 s"), "\(line)")
        try harness.daemon.stop()
    }

    @Test("with `format: json`, each log line is one object; a reload changes the format")
    func json() throws {
        let daemon = try TestDaemon("\(unusedUpstream)\nlog: {format: json, level: debug}")
        try daemon.rewrite(unusedUpstream)
        #expect(try daemon.control("reload").status == 0)
        try daemon.stop()
        let lines = daemon.program.errorText.split(separator: "\n")
        let objects = lines.filter { $0.hasPrefix("{") }
        #expect(objects.count > 1 && lines.count > objects.count)
        for object in objects {
            let json = try JSON(String(object))
            #expect(json["level"].string != nil && json["time"].string != nil, "\(object)")
        }
        #expect(objects.contains { $0.contains("\"answering on 127.0.0.1:") })
    }

    @Test(
        "a daemon that crashes prints its last log lines",
        .disabled(if: Child.isWatched, "a sanitizer handles crashes itself"),
        arguments: [SIGSEGV, SIGABRT, SIGILL, SIGTRAP]
    )
    func crash(_ signal: Int32) throws {
        let daemon = try TestDaemon(
            "\(unusedUpstream)\nlog: {level: notice}",
            environment: ["SWIFT_BACKTRACE": "enable=no"]
        )
        daemon.program.send(signal)
        let end = try daemon.program.end()
        #expect(end.status == 128 + signal)
        let parts = end.errors.components(separatedBy: "httpdnsd crashed; ")
        #expect(parts.count == 3, "\(end.errors)")
        #expect(parts.last?.hasPrefix("end of the last log lines\n") == true)
        #expect(parts.first?.contains("info: hosts: ") == false)
        let kept = try #require(parts.dropFirst().first)
        #expect(kept.contains("info: hosts: ") && kept.contains("notice: answering on 127."))
    }

    @Test("the systemd journal receives log entries with fields", .needs(.unshare, .python3))
    func journal() throws {
        let journal = try TestJournal()
        // `JOURNAL_STREAM` must have the device and inode of standard error.
        let scratch = try Scratch()
        let file = try scratch.write(
            "listen: [\"127.0.0.1:0\"]\ncontrol: {socket: /run/c.sock, mode: \"0600\"}\n"
                + "log: {queries: true}\n\(unusedUpstream)",
            to: "httpdnsd.yaml"
        )
        let daemon = try Child(
            "sh",
            [
                "-c",
                """
                export JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2)
                exec "$0" "$@"
                """, Product.daemon, "--config", file,
            ],
            in: journal.namespace
        )
        let ready = try journal.entry(with: "answering on ")
        #expect(ready.contains("'PRIORITY': '5'"), "\(ready)")
        #expect(ready.contains("'SYSLOG_IDENTIFIER': 'httpdnsd'"), "\(ready)")
        let port = try #require(ready.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        _ = try journal.namespace.run("dig", ["@127.0.0.1", "-p", String(port), "localhost", "A"])
        let query = try journal.entry(with: "'HTTPDNSD_NAME': 'localhost.'")
        #expect(query.contains("'HTTPDNSD_RCODE': 'noerror'"), "\(query)")
        #expect(query.contains("'PRIORITY': '6'"), "\(query)")
        let end = try daemon.stop()
        #expect(end.status == 0)
        #expect(end.errors == "")
    }

    @Test("the daemon ignores a JOURNAL_STREAM that is not its standard error")
    func foreignStream() throws {
        let daemon = try TestDaemon(unusedUpstream, environment: ["JOURNAL_STREAM": "1:2"])
        try daemon.stop()
        #expect(daemon.program.errorText.contains(" notice: answering on "))
    }
}
