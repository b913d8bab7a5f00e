// SPDX-License-Identifier: Apache-2.0
import DNSWire

struct AnswerCheck {
    private let octets: [UInt8]
    private let query: [UInt8]
    private let asked: Entry

    init(_ octets: [UInt8], to query: [UInt8], _ asked: Entry) {
        self.octets = octets
        self.query = query
        self.asked = asked
    }

    func differences(_ expected: Entry) -> [String] {
        guard let message = try? Message(parsing: octets) else {
            return ["the answer cannot be read: \(octets)"]
        }
        return always(message) + Self.differences(expected, message, isTCP: asked.isTCP)
    }

    private func always(_ message: Message) -> [String] {
        var differences: [String] = []
        if octets.prefix(2) != query.prefix(2) { differences.append("the ID differs") }
        if !message.header.isResponse { differences.append("the answer is a query") }
        let hasEDNS = asked.payloadSize != nil || asked.dnssecOK
        if hasEDNS != (message.edns != nil) {
            differences.append("the answer has EDNS only if the query has")
        }
        if message.edns.map({ $0.dnssecOK != asked.dnssecOK }) ?? false {
            differences.append("DO differs from the query")
        }
        let size = hasEDNS ? Int(asked.payloadSize ?? 1232) : 512
        let limit = asked.isTCP ? 65_535 : min(max(size, 512), 1232)
        if octets.count > limit {
            differences.append("the answer has \(octets.count) octets, more than \(limit)")
        }
        return differences
    }

    static func differences(_ expected: Entry, _ found: Message, isTCP: Bool) -> [String] {
        var differences: [String] = []
        func compare(_ what: String, _ expected: String, _ found: String) {
            guard expected != found else { return }
            differences += ["\(what) expected: \(expected)", "\(what) found:    \(found)"]
        }
        let hasTTL = expected.match.contains(.ttl)
        let isOrdered = expected.match.contains(.order)
        func section(_ what: String, _ left: [Record], _ right: [Record]) {
            func list(_ records: [Record]) -> String {
                let lines = records.map { text(of: $0, withTTL: hasTTL) }
                let all = isOrdered ? lines : lines.sorted()
                return all.isEmpty ? "nothing" : all.joined(separator: " | ")
            }
            compare(what, list(left), list(right))
        }
        let question = found.question
        for matching in Matching.allCases where expected.match.contains(matching) {
            switch matching {
            case .opcode: compare("opcode", "0", "\(found.header.opcode)")
            case .qname:
                compare("name", lower(expected.question?.name), lower(question?.name))
            case .qtype: compare("type", show(expected.question?.type), show(question?.type))
            case .question:
                // Clients that use DNS 0x20 (mixed case) check the letter case.
                guard let wanted = expected.question else { continue }
                compare("name", "\(wanted.name)", show(question?.name))
                compare("type", "\(wanted.type)", show(question?.type))
                compare("class", "\(wanted.recordClass)", show(question?.recordClass))
            case .rcode: compare("rcode", "\(expected.rcode)", "\(found.rcode)")
            case .flags: compare("flags", flags(expected.flags), flags(found.header.flags))
            case .answer: section("answer", expected.answers, found.answers)
            case .authority: section("authority", expected.authorities, found.authorities)
            case .additional: section("additional", expected.additionals, found.additionals)
            case .ede:
                let codes = found.edns?.extendedErrors.map(\.code.rawValue) ?? []
                compare("EDE", "\(expected.extendedErrors)", "\(codes)")
            case .do:
                compare("DO", "\(expected.dnssecOK)", "\(found.edns?.dnssecOK ?? false)")
            case .cd:
                let isSet = expected.flags & 0x10 != 0
                compare("CD", "\(isSet)", "\(found.header.checkingDisabled)")
            case .udp: compare("transport", "UDP", isTCP ? "TCP" : "UDP")
            case .tcp: compare("transport", "TCP", isTCP ? "TCP" : "UDP")
            case .ttl, .order: break
            }
        }
        return differences
    }

    private static func show(_ value: (some CustomStringConvertible)?) -> String {
        value.map { "\($0)" } ?? "none"
    }

    private static func lower(_ name: Name?) -> String { show(name).lowercased() }

    private static func text(of record: Record, withTTL: Bool) -> String {
        let owner = "\(record.name)".lowercased()
        let octets = record.data.octets
        let data =
            if case .opaque = record.data {
                octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            } else {
                "\(record.data)"
            }
        return "\(owner) \(withTTL ? "\(record.ttl) " : "")\(record.type) \(data)"
    }

    private static func flags(_ bits: UInt16) -> String {
        let names: [(UInt16, String)] = [
            (0x8000, "QR"), (0x0400, "AA"), (0x0200, "TC"), (0x0100, "RD"), (0x0080, "RA"),
            (0x0040, "Z"), (0x0020, "AD"), (0x0010, "CD"),
        ]
        return names.filter { bits & $0.0 != 0 }.map(\.1).joined(separator: " ")
    }
}

extension Entry {
    func query(id: UInt16) -> [UInt8] {
        var message = Message(header: Header(id: id, flags: flags & 0x7FFF))
        message.questions = [question].compactMap(\.self)
        if payloadSize != nil || dnssecOK {
            var edns = EDNS()
            edns.udpPayloadSize = payloadSize ?? 1232
            edns.dnssecOK = dnssecOK
            message.edns = edns
        }
        return message.encoded()
    }
}
