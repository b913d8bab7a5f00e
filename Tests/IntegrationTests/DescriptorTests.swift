// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Exhausted file descriptors", .needs(.nsd, .unshare), .hangLimit)
struct DescriptorTests {
    private static func descriptors(of daemon: TestDaemon) throws -> [Int] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(daemon.program.pid)/fd")
            .compactMap { Int($0) }
    }

    private static func limit(_ daemon: TestDaemon, to count: Int) throws {
        let end = try run("prlimit", ["--pid", "\(daemon.program.pid)", "--nofile=\(count):"])
        try #require(end.status == 0, "\(end.errors)")
    }

    private static func exhaust(_ daemon: TestDaemon) throws -> [Socket] {
        let used = try descriptors(of: daemon).count
        try limit(daemon, to: used)
        let clients = try (0..<20).map { _ in try Socket(.stream, to: daemon.port) }
        while try descriptors(of: daemon).count(where: { $0 < used }) < used {}
        return clients
    }

    @Test("while TCP clients use all file descriptors, the daemon can still call vendors")
    func vendors() throws {
        let harness = try ProgramHarness()
        let clients = try Self.exhaust(harness.daemon)
        try withExtendedLifetime(clients) {
            for number in 0..<10 {
                let reply = try harness.daemon.dig("new\(number).many.example.com", "A")
                #expect(reply.data("A") == ["192.0.2.77"], "\(reply.text)")
            }
        }
        try harness.daemon.stop()
    }

    @Test("without a free file descriptor, the daemon can still query upstreams")
    func upstreams() throws {
        let upstream = try TestUpstream()
        let daemon = try TestDaemon(upstream.text)
        #expect(try daemon.dig("mail.example.org", "A").status == "NOERROR")
        let clients = try Self.exhaust(daemon)
        let client = try Socket(.datagram, to: daemon.port)
        for number in 0..<100 {
            try client.send(RawMessage.query("new\(number).example.org", id: UInt16(number)))
            let reply = try client.receive()
            #expect(RawMessage.id(reply) == UInt16(number))
            #expect(RawMessage.rcode(reply) == 3, "\(number): \(reply)")
        }

        try Self.limit(daemon, to: 1024)
        for client in clients {
            try client.sendFramed([RawMessage.query("localhost")])
            #expect(RawMessage.answers(try client.receiveFramed()) == 1)
        }
        try daemon.stop()
    }
}
