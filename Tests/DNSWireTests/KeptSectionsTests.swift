// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import DNSWire

@Suite("Answer sections from a cache or a file")
struct KeptSectionsTests {
    private let question: Question
    private let sections: AnswerSections

    init() throws {
        let www: Name = "www.example.com"
        let host: Name = "host.example.com"
        let soa = SOA(
            primary: host,
            mailbox: "hostmaster.example.com",
            serial: 1,
            refresh: 2,
            retry: 3,
            expire: 4,
            minimum: 5
        )
        question = Question(name: www, type: .a)
        sections = try AnswerSections(
            question: question,
            answers: [
                Record(name: www, ttl: 300, data: .cname(host)),
                Record(name: host, ttl: 60, data: .a(IPv4Address(value: 0xC000_0201))),
            ],
            authorities: [Record(name: "example.com", ttl: 0x0102_0304, data: .soa(soa))],
            additionals: [
                Record(name: host, type: RecordType(rawValue: 65_280), ttl: 7, data: .opaque([1]))
            ]
        )
    }

    private func check(
        _ octets: [UInt8]? = nil,
        answers: UInt16? = nil,
        additionals: UInt16? = nil
    ) throws(WireError) -> AnswerSections {
        try AnswerSections(
            checking: octets ?? sections.octets,
            of: question,
            answerCount: answers ?? sections.answerCount,
            authorityCount: sections.authorityCount,
            additionalCount: additionals ?? sections.additionalCount
        )
    }

    @Test
    func `encoded sections are parsed unchanged, with their TTL offsets`() throws {
        #expect(try check() == sections)
        #expect(sections.ttlOffsets.count == 4)
    }

    @Test
    func `sections copied from octets, counts and offsets equal the original`() {
        let copy = AnswerSections(
            copying: sections.octets.rawSpan,
            answerCount: sections.answerCount,
            authorityCount: sections.authorityCount,
            additionalCount: sections.additionalCount,
            ttlOffsets: sections.ttlOffsets.rawSpan
        )
        #expect(copy == sections)
    }

    @Test
    func `every TTL is replaced, and nothing else changes`() throws {
        var seen: [UInt32] = []
        let mapped = sections.mappingTTLs(of: question) { ttl in
            seen.append(ttl)
            return 30
        }
        #expect(seen == [300, 60, 0x0102_0304, 7])
        let back = mapped.mappingTTLs(of: question) { _ in seen.removeFirst() }
        #expect(back == sections)
    }

    @Test
    func `truncated sections are refused`() {
        for count in sections.octets.indices {
            #expect(throws: WireError.self) { try check(Array(sections.octets[..<count])) }
        }
    }

    @Test
    func `wrong counts, extra octets and an OPT record are refused`() {
        let end = 12 + question.octetCount + sections.octets.count
        #expect(throws: WireError.truncated(at: end)) { try check(answers: .max) }
        #expect(throws: WireError.self) { try check(answers: 1) }
        #expect(throws: WireError.trailingOctets(at: end)) { try check(sections.octets + [0]) }
        let opt: [UInt8] = [0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]
        #expect(throws: WireError.misplacedOPT(at: end)) {
            try check(sections.octets + opt, additionals: 2)
        }
        #expect(throws: WireError.trailingOctets(at: 65_535)) {
            try check([UInt8](repeating: 0, count: 65_535))
        }
    }

    @Test
    func `a compression pointer into a TTL is refused, because the TTL changes`() throws {
        let end = 12 + question.octetCount + sections.octets.count
        let ttl = end + 5
        let pointer = [0xC0 | UInt8(ttl >> 8), UInt8(truncatingIfNeeded: ttl)]
        // The TTL of this CNAME record contains the name "a", to which the pointer in RDATA leads.
        let cname: [UInt8] = [0, 0, 5, 0, 1, 1, 0x61, 0, 0, 0, 2] + pointer
        #expect(throws: WireError.reservedLabel(at: ttl)) {
            try check(sections.octets + cname, additionals: 2)
        }
        let toQuestion: [UInt8] = cname.dropLast(2) + [0xC0, 12]
        #expect(throws: Never.self) { try check(sections.octets + toQuestion, additionals: 2) }
    }

    @Test(arguments: ["www.example.com", "."] as [Name])
    func `sections made from addresses and from A and AAAA records are equal`(_ name: Name) throws {
        let addresses = try ["192.0.2.1", "2001:db8::1", "192.0.2.2"].map {
            try #require(IPAddress($0))
        }
        let question = Question(name: name, type: .a)
        let records = addresses.map { address in
            switch address {
            case .v4(let address): Record(name: name, ttl: 300, data: .a(address))
            case .v6(let address): Record(name: name, ttl: 300, data: .aaaa(address))
            }
        }
        let written = try AnswerSections(addresses: addresses, of: question, ttl: 300)
        #expect(written == (try AnswerSections(question: question, answers: records)))
        #expect(throws: BuildError.messageFull) {
            let many = [IPAddress](repeating: addresses[0], count: 3000)
            _ = try AnswerSections(addresses: many, of: question, ttl: 300)
        }
    }
}
