// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("A stopped reader does not stop the daemon", .needs(.dig), .hangLimit)
struct StoppedReaderTests {
    private func ask(_ count: Int, of daemon: TestDaemon) throws {
        let scratch = try Scratch()
        let names = (0..<count).map { "n\($0).\(String(repeating: "x", count: 50)).localhost A" }
        let file = try scratch.write(names.joined(separator: "\n") + "\n", to: "names")
        let last = try daemon.dig("-f", file, "+noall", "+comments")
        #expect(last.text.components(separatedBy: "status: NOERROR").count == count + 1)
    }

    private func works(_ daemon: TestDaemon) throws {
        #expect(try daemon.dig("localhost", "A", "+tcp").data("A") == ["127.0.0.1"])
        #expect(try daemon.control("version").status == 0)
        try daemon.stop()
    }

    private func unread(_ environment: [String: String] = [:]) throws -> TestDaemon {
        let script = """
            exec 3>&2
            exec "$@" 2> >(sed -u '/answering on/q' >&3
                exec tail --pid=$$ -s 0.1 -f /dev/null 3>&- >/dev/null 2>&1)
            """
        return try TestDaemon(
            "log: {queries: true}\n\(unusedUpstream)",
            environment: environment,
            under: ["bash", "-c", script, "bash"]
        )
    }

    @Test(
        "if the reader of standard error has stopped, a daemon that crashes still ends",
        .disabled(if: Child.isWatched, "a sanitizer handles crashes itself")
    )
    func crash() throws {
        let daemon = try unread(["SWIFT_BACKTRACE": "enable=no"])
        try ask(2_000, of: daemon)
        daemon.program.send(SIGSEGV)
        #expect(try daemon.program.end().status == 128 + SIGALRM)
    }

    @Test("if the reader of the query log has stopped, the daemon still answers queries")
    func log() throws {
        let daemon = try unread()
        try ask(2_000, of: daemon)
        // A worker counts a query after it has sent the answer.
        _ = try daemon.dig("localhost", "A")
        // The count may be above 2,000: a program of another test may still send to this port.
        let total = try #require(daemon.stats()["queries", "total"].int)
        #expect(total >= 2_000)
        try works(daemon)
    }

    @Test("if the reader of sd_notify messages has stopped, the daemon still answers queries")
    func notifications() throws {
        let scratch = try Scratch()
        let path = scratch.file("notify")
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let (reader, writer) = (socket(AF_UNIX, type, 0), socket(AF_UNIX, type, 0))
        defer { for descriptor in [reader, writer] { close(descriptor) } }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                let size = socklen_t(MemoryLayout<sockaddr_un>.size)
                #expect(bind(reader, $0, size) == 0)
                #expect(connect(writer, $0, size) == 0)
            }
        }
        var octet: UInt8 = 0x0A
        while send(writer, &octet, 1, Int32(MSG_DONTWAIT)) == 1 {}
        #expect(errno == EAGAIN)
        let daemon = try TestDaemon(
            unusedUpstream,
            environment: ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "100000"]
        )
        #expect(try daemon.control("reload").status == 0)
        try works(daemon)
    }
}
