// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

private final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
        path = scratch.file("notify")
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = socket(AF_UNIX, type, 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(result == 0)
    }

    deinit { close(descriptor) }

    func next(within milliseconds: Int32 = 20_000) -> String? {
        var wish = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&wish, 1, milliseconds) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }

    func wait(for text: String) throws {
        while true {
            if try #require(next(), "no \(text)").hasPrefix(text) { return }
        }
    }

    var environment: [String: String] { ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1500000"] }
}

@Suite("Watchdog notifications depend on health checks", .hangLimit)
struct WatchdogTests {
    @Test(
        "the daemon answers its own queries even if `allow` excludes them, and does not count them",
        arguments: ["127.0.0.0/8", "192.0.2.0/24"]
    )
    func answers(_ allowed: String) throws {
        let systemd = try NotifySocket()
        let daemon = try TestDaemon(
            "allow: [\"\(allowed)\"]\nworkers: 3\n\(unusedUpstream)",
            listen: "127.0.0.1:0",
            "[::1]:0",
            "0.0.0.0:0",
            environment: systemd.environment
        )
        try systemd.wait(for: "READY=1")
        for _ in 0..<3 { try systemd.wait(for: "WATCHDOG=1") }
        let stats = try daemon.stats()
        #expect(stats["queries", "total"].int == 0)
        #expect(stats["packets"].sum == 0)
        try daemon.stop()
        let said = daemon.program.errorText
        #expect(!said.contains("own query"), "\(said)")
    }

    @Test("if workers hang, the daemon sends no more watchdog notifications", .needs(.python3))
    func hang() throws {
        let systemd = try NotifySocket()
        let daemon = try TestDaemon(
            "workers: 2\n\(unusedUpstream)",
            environment: systemd.environment
        )
        try systemd.wait(for: "WATCHDOG=1")
        let debugger = try Child(
            "python3",
            [
                "-c",
                """
                import ctypes, os, sys
                process = sys.argv[1]
                call = ctypes.CDLL(None, use_errno=True).ptrace
                call.argtypes = [ctypes.c_long] * 4
                for thread in os.listdir(f"/proc/{process}/task"):
                    try:
                        name = open(f"/proc/{process}/task/{thread}/comm").read()
                    except FileNotFoundError:
                        continue  # The thread has ended.
                    if name.startswith("worker-"):
                        if call(16, int(thread), 0, 0) != 0:
                            sys.exit(os.strerror(ctypes.get_errno()))
                        os.waitpid(int(thread), 0x40000000)
                print("stopped", flush=True)
                sys.stdin = open("/dev/null")
                import signal
                signal.pause()
                """, "\(daemon.program.pid)",
            ]
        )
        _ = try debugger.line(with: "stopped")
        _ = try daemon.program.line(with: "no reply to the health check query")
        while systemd.next(within: 0) != nil {}
        #expect(systemd.next(within: 1500) == nil, "twice the interval")
        #expect(try daemon.control("version").status == 0)

        try debugger.stop()
        _ = try daemon.program.line(with: "answers again")
        try systemd.wait(for: "WATCHDOG=1")
        let lines = daemon.program.errorText.split(separator: "\n")
        #expect(lines.count { $0.contains("no reply to the health check query") } == 1)
        try daemon.stop()
    }
}
