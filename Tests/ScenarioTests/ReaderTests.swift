// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Foundation
import Testing

@Suite("The reader of scenario files: results, and errors with line numbers")
struct ReaderTests {
    private static func text(_ line: String) -> String {
        """
        ; A promise to users,
        ; in two lines.
        upstreams:
          - {name: isp, url: "udp://192.0.2.53"}
        CONFIG_END
        SCENARIO_BEGIN a title
        RANGE_BEGIN 0 10 ; a comment
          ADDRESS 192.0.2.53
        RANGE_END
        STEP 1 QUERY
        ENTRY_BEGIN
        \(line)
        SECTION QUESTION
        www.example.com. IN A
        ENTRY_END
        STEP 2 CHECK_ASKED
          isp www.example.com A
        SCENARIO_END
        """
    }

    private static func fault(_ text: String) -> String? {
        do {
            _ = try ScenarioReader.read(text, file: "f.rpl")
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("the reader returns all parts of a scenario, with their line numbers")
    func whole() throws {
        let scenario = try ScenarioReader.read(Self.text("REPLY RD"), file: "f.rpl")
        #expect(scenario.overview == ["A promise to users,", "in two lines."])
        #expect(scenario.title == "a title")
        #expect(scenario.ranges.map(\.steps) == [0...10])
        #expect(scenario.ranges.map(\.peer) == [.upstream("192.0.2.53")])
        #expect(scenario.steps.map(\.number) == [1, 2])
        #expect(scenario.steps.map(\.place.line) == [10, 16])
        #expect(scenario.settings.split(separator: "\n").count == 2)
        #expect(scenario.settings.hasPrefix("\n\nupstreams:"))
    }

    @Test(
        "if a line of an entry is invalid, the error has the line number and the invalid word",
        arguments: [
            ("MATCH allthing", "`allthing`"),
            ("ADJUST copy", "`copy`"),
            ("REPLY RD XY", "`XY`"),
            ("REPLY", "`REPLY`"),
            ("SPEED 3", "`SPEED`"),
            ("DELAY soon", "`soon`"),
            ("FAULT lazy", "`lazy`"),
            ("EDE many", "`many`"),
            ("REPLY \"RD", "quote"),
        ]
    )
    func lines(_ line: String, _ message: String) throws {
        let fault = try #require(Self.fault(Self.text(line)))
        #expect(fault.hasPrefix("f.rpl:12: ") && fault.contains(message), "\(fault)")
    }

    @Test(
        "if a record is invalid, the error has the line number and the invalid part",
        arguments: [
            ("www.example.com.", "name and a type"),
            ("www.example.com. 60 IN A 192.0.2", "`192.0.2`"),
            ("www.example.com. 60 IN MX ten mail.example.com.", "`ten`"),
            ("www..example.com. 60 IN A 192.0.2.1", "`www..example.com.`"),
            ("www.example.com. 60 IN TYPE65280 \\# 3 0102", "\\#"),
            ("www.example.com. 60 IN HTTPS 1 . color=red", "`color=red`"),
        ]
    )
    func records(_ record: String, _ message: String) throws {
        let text = Self.text("SECTION ANSWER\n\(record)")
        let fault = try #require(Self.fault(text))
        #expect(fault.hasPrefix("f.rpl:13: ") && fault.contains(message), "\(fault)")
    }

    @Test(
        "if the structure of the file is invalid, the error has the line number",
        arguments: [
            ("STEP 2 CHECK_ASKED", "STEP 1 CHECK_ASKED", 16, "rising"),
            ("STEP 2 CHECK_ASKED", "STEP 2 DANCE", 16, "`DANCE`"),
            ("ENTRY_BEGIN", "ENTRY", 11, "ENTRY_BEGIN"),
            ("RANGE_BEGIN 0 10", "RANGE_BEGIN 10 0", 7, "RANGE_BEGIN"),
            ("  ADDRESS 192.0.2.53", "  SERVER 192.0.2.53", 8, "ADDRESS"),
            ("SCENARIO_END", "", 18, "SCENARIO_END"),
            ("CONFIG_END\n", "", 17, "CONFIG_END"),
            ("; in two lines.\n", "", 1, "2 to 5 lines"),
        ]
    )
    func structure(_ old: String, _ new: String, _ line: Int, _ message: String) throws {
        let text = Self.text("REPLY RD").replacingOccurrences(of: old, with: new)
        let fault = try #require(Self.fault(text))
        #expect(fault.hasPrefix("f.rpl:\(line): ") && fault.contains(message), "\(fault)")
    }

    @Test(
        "the reader parses records of all types in zone file format",
        arguments: [
            "example.com. 60 IN AAAA 2001:db8::1",
            "example.com. 60 IN MX 10 mail.example.com.",
            "example.com. 60 IN SRV 1 2 443 www.example.com.",
            "example.com. 60 IN SOA ns.example.com. admin.example.com. 1 2 3 4 5",
            "example.com. 60 IN HTTPS 1 . alpn=h2,h3 port=8443 ipv4hint=192.0.2.1,192.0.2.2",
            "example.com. 60 IN TYPE65280 \\# 3 010203",
        ]
    )
    func presentation(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        let record = try RecordText.record(words)
        let data = words.dropFirst(4).joined(separator: " ")
        #expect("\(record.data)".filter { $0 != "\"" } == data)
        #expect(record.ttl == 60)
    }

    @Test("the reader parses times with their units")
    func times() {
        #expect(Words.duration("300ms") == .milliseconds(300))
        #expect(Words.duration("1.5") == .milliseconds(1_500))
        #expect(Words.duration("10m") == .seconds(600))
        #expect(Words.duration("1d") == .seconds(86_400))
        #expect(Words.duration("-1s") == nil)
    }
}
