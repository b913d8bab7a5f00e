// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Foundation
import Testing

@Suite(
    "Agreement with dnspython",
    .enabled(
        if: Oracle.isInstalled || Oracle.isRequired,
        "\(Oracle.python) has no dnspython: install python3-dnspython or set HTTPDNSD_TEST_PYTHON"
    )
)
struct DifferentialTests {
    /// Each file contains packets; the length of each packet precedes the packet, in two octets.
    private static let corpora = ProcessInfo.processInfo.environment["HTTPDNSD_CORPORA"]

    @Test
    func `generated and mutated packets are parsed as by dnspython`() throws {
        try #require(Oracle.isInstalled, "CI needs python3-dnspython")
        let packets = try Oracle.generate(seed: 1, count: 1_000)
        let tally = try compare(packets)
        #expect(tally.agreed > packets.count * 9 / 10)
        #expect(tally.accepted > packets.count / 3)
    }

    @Test(.enabled(if: corpora != nil, "HTTPDNSD_CORPORA is not a folder"))
    func `the messages of public corpora are parsed as dnspython parses them`() throws {
        try #require(Oracle.isInstalled, "CI needs python3-dnspython")
        let folder = URL(fileURLWithPath: try #require(Self.corpora))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        for file in files where file.hasSuffix(".bin") {
            let data = try Data(contentsOf: folder.appendingPathComponent(file))
            try compare(Oracle.split(data), file)
        }
    }

    @Test
    func `records are printed as by dnspython`() throws {
        try #require(Oracle.isInstalled, "CI needs python3-dnspython")
        var records: [Record] = []
        for (index, packet) in try Oracle.generate(seed: 2, count: 400).enumerated()
        where index.isMultiple(of: 3) {
            if let message = try? Message(parsing: packet) {
                records += message.answers + message.authorities + message.additionals
            }
        }
        #expect(records.count > 1_000)
        let lines = records.map { "\($0)\t\($0.type)\t\(digits($0.data.octets))" }
        let verdicts = try Oracle.readText(lines)
        #expect(verdicts.count == lines.count)
        for (line, verdict) in zip(lines, verdicts) where verdict != "ok" {
            Issue.record("\(line): \(verdict)")
            return
        }
    }
}

extension DifferentialTests {
    private struct Tally {
        var agreed = 0
        var accepted = 0
    }

    @discardableResult
    private func compare(_ packets: [[UInt8]], _ label: String = "generated") throws -> Tally {
        let lines = try Oracle.read(packets)
        try #require(lines.count == packets.count)
        var tally = Tally()
        var unexplained = 0
        for (packet, line) in zip(packets, lines) {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            let notes = Set(words[1].split(separator: ",").map(String.init))
            let theirs = words[0] == "ok" ? words[2] : nil
            let ours = Result { () throws(WireError) in try Message(parsing: packet) }

            let isExplained: Bool
            switch (ours, theirs) {
            case (.success(let message), .some(let theirs)):
                tally.accepted += 1
                let isSame = describe(message) == theirs
                tally.agreed += isSame ? 1 : 0
                isExplained = isSame || notes.contains("labels-over-pointer")
            case (.failure, .none):
                tally.agreed += 1
                isExplained = true
            case (.failure(let error), .some):
                isExplained = Self.explains(refusal: error, notes)
            case (.success, .none):
                isExplained = Self.explainsAcceptance(notes)
            }
            if !isExplained {
                unexplained += 1
                if unexplained <= 5 {
                    Issue.record("\(label): \(digits(packet))\nours: \(ours)\ntheirs: \(line)")
                }
            }
        }
        #expect(unexplained == 0)
        return tally
    }

    private static func explains(refusal error: WireError, _ notes: Set<String>) -> Bool {
        switch error {
        case .pointerIntoHeader:
            // dnspython accepts pointers into the header (RFC 1035 §4.1.4).
            notes.contains("pointer-into-header")
        case .badOption:
            // dnspython checks neither the lengths of EDNS options nor the bits after the prefix of
            // a client subnet.
            notes.contains { $0.hasPrefix("option-") }
        case .compressedName:
            // dnspython accepts a compressed target of SVCB (RFC 9460 §2.2).
            notes.contains("svcb")
        case .badRDATA:
            // dnspython accepts a TXT record without a string (RFC 1035 §3.3.14), and an SVCB
            // record with a duplicate key.
            notes.contains("empty-txt") || notes.contains("svcb")
        default:
            // If the labels at the target of a pointer overlap the pointer, dnspython and DNSWire
            // continue at different octets.
            notes.contains("labels-over-pointer")
        }
    }

    private static func explainsAcceptance(_ notes: Set<String>) -> Bool {
        // dnspython rejects a TSIG record with an unknown key, a client subnet with an unknown
        // address family, and an SVCB record with invalid values.
        !notes.isDisjoint(with: ["tsig", "family", "svcb", "labels-over-pointer"])
    }

    private func describe(_ message: Message) -> String {
        var fields = [digits(Array(message.encoded().prefix(4)))]
        for question in message.questions {
            let name = digits(question.name.octets)
            fields.append("q:\(name)/\(question.type.rawValue)/\(question.recordClass.rawValue)")
        }
        let sections = [
            ("a", message.answers), ("n", message.authorities), ("x", message.additionals),
        ]
        for (mark, records) in sections {
            for record in records {
                fields.append(
                    "\(mark):\(digits(record.name.octets))/\(record.type.rawValue)"
                        + "/\(record.recordClass.rawValue)/\(record.ttl)"
                        + "/\(digits(record.data.octets))"
                )
            }
        }
        if let edns = message.edns { fields.append(describe(edns)) }
        return fields.joined(separator: " ")
    }

    private func describe(_ edns: EDNS) -> String {
        let ttl = [edns.extendedRCode, edns.version] + two(Int(edns.flags))
        let options = edns.options.map { option in
            let octets = Message(edns: EDNS(options: [option])).encoded()
            return "\(option.code)=\(digits(Array(octets[27...])))"
        }
        return "o:\(edns.udpPayloadSize)/\(digits(ttl))/\(options.joined(separator: ","))"
    }

    private func digits(_ octets: [UInt8]) -> String {
        octets.map { String($0 >> 4, radix: 16) + String($0 & 0xF, radix: 16) }.joined()
    }
}
