// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Processing of answers", .needs(.dig, .nsd, .curl), .hangLimit)
struct AnswersTests {
    @Test(
        "the daemon answers from hosts files and `hosts.records`, and reads changed files again"
    )
    func hosts() throws {
        let folder = try Scratch()
        let file = try folder.write(
            """
            192.0.2.200 printer.lan printer   # the one upstairs
            192.0.2.201 www.example.com
            192.0.2.999 bad.lan
            127.0.0.1 localhost
            """,
            to: "hosts"
        )
        let harness = try ProgramHarness(
            settings: "hosts: {files: [\(file)], records: {fixed.lan: [\"2001:db8::200\"]}}"
        )
        let daemon = harness.daemon
        var reply = try daemon.dig("printer.lan", "A")
        #expect(reply.data("A") == ["192.0.2.200"], "\(reply.text)")
        #expect(reply.answers.allSatisfy { $0.ttl == 10 })
        #expect(try daemon.dig("PRINTER", "A", "+tcp").data("A") == ["192.0.2.200"])
        reply = try daemon.dig("printer", "AAAA")
        #expect(reply.status == "NOERROR" && reply.answers.isEmpty)
        #expect(reply.authorities.map(\.type) == ["SOA"])
        #expect(try daemon.dig("fixed.lan", "AAAA").data("AAAA") == ["2001:db8::200"])
        reply = try daemon.dig("200.2.0.192.in-addr.arpa", "PTR")
        #expect(reply.data("PTR") == ["printer.lan."])
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.201"])
        #expect(try daemon.dig("localhost", "A").data("A") == ["127.0.0.1"])
        #expect(try harness.emulator.lookups() == 0)
        let stats = try daemon.stats()
        #expect(stats["queries", "by-source", "local"].int == 7)

        #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.4"])
        try folder.write("192.0.2.202 printer.lan four.example.com\n", to: "new")
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.moveItem(atPath: folder.file("new"), toPath: file)
        _ = try daemon.program.line(with: "hosts: names loaded: 3")
        #expect(try daemon.dig("printer.lan", "A").data("A") == ["192.0.2.202"])
        #expect(try daemon.dig("four.example.com", "A").data("A") == ["192.0.2.202"])
        #expect(try daemon.dig("www.example.com", "A").data("A") == ["192.0.2.1", "192.0.2.2"])
        let end = try daemon.program.stop()
        #expect(end.status == 0)
        #expect(
            end.errors.contains(
                "\(file):3: the line does not start with an IP address, ignoring the line"
            )
        )
    }

    @Test("in an answer, an address that accepts connections comes before an address that does not")
    func fastest() throws {
        let server = try Socket(.stream, bound: true)
        try server.listen()
        let harness = try ProgramHarness(
            settings: """
                answers:
                  order: fastest
                  probe: [{domain: near.example.org, port: \(server.port)}]
                """
        )
        let daemon = harness.daemon
        #expect(
            try daemon.dig("near.example.org", "A").answers.map(\.data) == [
                "127.0.0.77", "127.0.0.1",
            ]
        )
        // After the first answer, the daemon probes both addresses, so a later answer has the
        // working address first.
        var answers: [String] = []
        for _ in 0..<200 where answers.first != "127.0.0.1" {
            answers = try daemon.dig("near.example.org", "A").answers.map(\.data)
        }
        #expect(answers == ["127.0.0.1", "127.0.0.77"])
        try daemon.stop()
    }
}
