// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite(
    "Secrets in memory",
    .needs(.curl, .nginx, .openssl, .python3, .unshare),
    .disabled(if: Child.isWatched, "sanitizers map terabytes and reuse memory late"),
    .hangLimit
)
struct PrivacyTests {
    private static let key = "Zq7xVt3mKw9pLb5r"

    private static func places(of text: String, in daemon: TestDaemon) throws -> Int {
        let end = try run(
            "python3",
            [
                "-c",
                """
                import sys
                process, wanted = sys.argv[1], bytes.fromhex(sys.argv[2])
                count = 0
                with open(f"/proc/{process}/mem", "rb", 0) as memory:
                    for line in open(f"/proc/{process}/maps"):
                        parts = line.split()
                        first, last = (int(end, 16) for end in parts[0].split("-"))
                        if parts[1][0] != "r" or parts[-1] in ("[vvar]", "[vsyscall]"): continue
                        memory.seek(first)
                        try: count += memory.read(last - first).count(wanted)
                        except OSError: pass
                print(count)
                """, "\(daemon.program.pid)",
                text.utf8.map { String(format: "%02x", $0) }.joined(),
            ]
        )
        return try #require(
            Int(end.output.trimmingCharacters(in: .whitespacesAndNewlines)),
            "\(end.errors)"
        )
    }

    private static func settings(_ file: String, timeout: String) -> String {
        """
        vendors:
          tencent: {kind: tencent, channel: aes, id: 12345, key: {file: \(file)}, servers: ["127.0.0.1:9"], timeout: \(timeout)}
        routes: [{domains: [example.com], vendors: [tencent]}]
        \(unusedUpstream)
        """
    }

    @Test("the memory of the daemon has one copy of a vendor's key")
    func secrets() throws {
        let scratch = try Scratch()
        let file = try scratch.write(Self.key + "\n", to: "key", mode: 0o600)
        let daemon = try TestDaemon(Self.settings(file, timeout: "1s"))
        #expect(try Self.places(of: Self.key, in: daemon) == 1)
        for timeout in ["1500ms", "2s", "1s"] {
            try daemon.rewrite(Self.settings(file, timeout: timeout))
            #expect(try daemon.control("reload").status == 0)
        }
        #expect(try Self.places(of: Self.key, in: daemon) == 1)
        try scratch.write("another/key/here\n", to: "key", mode: 0o600)
        #expect(try daemon.control("reload").status == 0)
        #expect(try Self.places(of: "another/key/here", in: daemon) >= 1)
        #expect(try Self.places(of: Self.key, in: daemon) == 0)
        try daemon.stop()
    }

    @Test("copies of a token in URLs do not accumulate in the daemon's memory")
    func token() throws {
        let scratch = try Scratch()
        let emulator = try TestEmulator(zone: ProgramHarness.zone)
        let authority = try Authority()
        let front = try TestNginx([.front()], backend: emulator.address, authority: authority)
        let vendor = try VendorText(
            .https,
            servers: ["127.0.0.1:\(front.port)"],
            in: scratch,
            authority: authority.file
        )
        let daemon = try TestDaemon(
            """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback: none}]
            \(unusedUpstream)
            """
        )
        let token = "987654321"
        #expect(try Self.places(of: token, in: daemon) == 1)
        func lookUp(_ numbers: Range<Int>) throws {
            let client = try Socket(.datagram, to: daemon.port)
            for number in numbers {
                try client.send(RawMessage.query("n\(number).many.example.com"))
                #expect(RawMessage.answers(try client.receive()) == 1)
            }
        }
        try lookUp(0..<20)
        let first = try Self.places(of: token, in: daemon)
        try lookUp(20..<300)
        let second = try Self.places(of: token, in: daemon)
        // Some copies of the token are expected in the HPACK table, and in freed memory of strings.
        #expect(first <= 40 && second <= first + 8, "\(first), then \(second)")
        try daemon.stop()
    }

    @Test(
        "the daemon writes no core dump, and only a process with privileges can inspect the daemon"
    )
    func closed() throws {
        let daemon = try TestDaemon(unusedUpstream)
        let process = "/proc/\(daemon.program.pid)"
        let limits = try String(contentsOfFile: "\(process)/limits", encoding: .utf8)
        let core = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core") })
        #expect(core.split(whereSeparator: \.isWhitespace).filter { $0 == "0" }.count == 2)
        let status = try String(contentsOfFile: "\(process)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1"))
        // setpriv removes the capabilities with which the child could inspect other processes.
        func look(_ path: String) throws -> Int32 {
            try run("setpriv", ["--bounding-set", "-all", "cat", path]).status
        }
        #expect(try look("/proc/self/environ") == 0)
        #expect(try look("\(process)/environ") != 0)
        try daemon.stop()
    }
}
