// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite(
    "System call filter of the unit",
    .needs(.dig, .nginx, .nsd, .openssl, .python3, .systemd, .curl),
    .hangLimit
)
struct FilterTests {
    private static let unit = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "systemd/httpdnsd.service").path

    /// Script that installs the filter of a unit as systemd does, then executes a program.
    private static let script = """
        import ctypes, glob, os, re, struct, subprocess, sys
        def members(name):
            if not name.startswith("@"): return {name}
            text = subprocess.run(["systemd-analyze", "syscall-filter", name],
                capture_output=True, text=True, check=True).stdout
            words = [line.strip() for line in text.splitlines()[1:]]
            return set().union(*(members(word) for word in words if word and word[0] != "#"))
        allowed, instead = members("@default"), {}
        for line in re.findall("^SystemCallFilter=(.*)$", open(sys.argv[1]).read(), re.M):
            for word in line.lstrip("~").split():
                word, _, error = word.partition(":")
                for name in members(word):
                    if not line.startswith("~"): allowed.add(name)
                    else: allowed.discard(name)
                    if error: instead[name] = int(error)
        header = (glob.glob("/usr/include/*/asm/unistd_64.h") + ["/usr/include/asm-generic/unistd.h"])[0]
        numbers = dict(re.findall(r"#define __NR3?_(\\w+)\\s+(\\d+)", open(header).read()))
        def instruction(code, value, no=0): return struct.pack("HBBI", code, 0, no, value)
        filter = instruction(0x20, 0)
        for name, number in numbers.items():
            if name in allowed or name in instead:
                verdict = 0x7FFF0000 if name in allowed else 0x00050000 | instead[name]
                filter += instruction(0x15, int(number), 1) + instruction(0x06, verdict)
        filter += instruction(0x06, 0x00050001)
        octets = ctypes.create_string_buffer(filter, len(filter))
        program = struct.pack("HxxxxxxP", len(filter) // 8, ctypes.addressof(octets))
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        prctl.argtypes = [ctypes.c_ulong] * 5
        holder = ctypes.create_string_buffer(program, len(program))
        if prctl(38, 1, 0, 0, 0) or prctl(22, 2, ctypes.addressof(holder), 0, 0):
            sys.exit(os.strerror(ctypes.get_errno()))
        os.execv(sys.argv[2], sys.argv[2:])
        """

    /// Command that drops all capabilities, as an empty CapabilityBoundingSet= does.
    private static var command: [String] {
        ["setpriv", "--bounding-set", "-all", "python3", "-c", script, unit]
    }

    @Test("the filter forbids unshare and mount")
    func forbidden() throws {
        func run(_ program: String, _ arguments: String...) throws -> Child.End {
            try Child("python3", ["-c", Self.script, Self.unit, program] + arguments).end()
        }
        #expect(try run("/bin/echo", "still here").output == "still here\n")
        #expect(try run("/usr/bin/unshare", "--net", "true").status != 0)
        #expect(try run("/bin/mount", "--bind", "/", "/mnt").status != 0)
    }

    @Test("with the filter, the daemon starts, answers, reloads and writes its snapshot")
    func works() throws {
        let scratch = try Scratch()
        let upstream = try TestUpstream()
        let emulator = try TestEmulator(zone: ProgramHarness.zone)
        let authority = try Authority()
        let front = try TestNginx([.front()], backend: emulator.address, authority: authority)
        let vendor = try VendorText(
            .https,
            servers: ["127.0.0.1:\(front.port)"],
            in: scratch,
            authority: authority.file
        )
        let settings = """
            \(vendor.text)
            routes: [{domains: [example.com], vendors: [tencent], fallback: none}]
            \(upstream.text)
            cache: {snapshot: \(scratch.file("cache.snapshot"))}
            hosts: {files: [/etc/hosts]}
            """
        let daemon = try TestDaemon(settings, under: Self.command)
        for transport in ["+tcp", "+notcp"] {
            #expect(try daemon.dig("www.example.com", "A", transport).data("A").count == 2)
            #expect(try daemon.dig("big.example.org", "TXT", transport).status == "NOERROR")
            #expect(try daemon.dig("localhost", "A", transport).data("A") == ["127.0.0.1"])
        }
        try daemon.rewrite(settings + "\nlog: {queries: true}", listen: "127.0.0.1:0", "[::1]:0")
        for verb in ["status", "stats", "reload", "version", "check"] {
            let end = try daemon.control(verb)
            #expect(end.status == 0, "\(verb): \(end.errors)")
        }
        #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        try daemon.stop()
        #expect(FileManager.default.fileExists(atPath: scratch.file("cache.snapshot")))
        let said = daemon.program.errorText
        #expect(!said.contains("not permitted"), "\(said)")
    }

    @Test("with the filter, the daemon accepts `httpdnsctl reload`")
    func control() throws {
        let daemon = try TestDaemon(unusedUpstream)
        let end = try Child(
            Self.command[0],
            Self.command.dropFirst() + [Product.control, "--socket", daemon.socket, "reload"]
        ).end()
        #expect(end.status == 0, "\(end.errors)")
        try daemon.stop()
    }
}
