// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Testing

@testable import Resolver

@Suite("Records that answer the query (RFC 2181 §5, RFC 2308 §5)")
struct ResolutionTests {
    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        var type = RecordType.a
        var dnssecOK = false
        var rcode = RCode.noError
        var answers: [Record] = []
        var authorities: [Record] = []
        var additionals: [Record] = []

        var expected: [String] = []
        var expectedAuthorities: [String] = []
        var lifetime: UInt32 = 300

        init(_ label: String, _ change: (inout Case) -> Void) {
            testDescription = label
            change(&self)
        }
    }

    private static let www: Name = "www.example.com"

    private static let positive: [Case] = [
        Case("an address") {
            $0.answers = [.a(www, 1)]
            $0.expected = ["A www.example.com."]
        },
        Case("records of other names and types") {
            $0.answers = [
                .a(www, 1), .a("evil.example.net", 2), .aaaa(www, 3), .other(www, .https),
            ]
            $0.authorities = [.other("example.com", .ns), .soa("example.com")]
            $0.additionals = [.a("ns.example.com", 4)]
            $0.expected = ["A www.example.com."]
        },
        Case("a CNAME chain in any order") {
            $0.answers = [
                .a("c.example.net", 1), .cname("b.example.org", "c.example.net"),
                .cname(www, "b.example.org", ttl: 20), .cname("x.example.org", "y.example.org"),
            ]
            $0.expected = ["A c.example.net.", "CNAME b.example.org.", "CNAME www.example.com."]
            $0.lifetime = 20
        },
        Case("another class") {
            $0.answers = [
                .a(www, 1),
                Record(name: www, type: .a, recordClass: .ch, ttl: 5, data: .opaque([1])),
            ]
            $0.expected = ["A www.example.com."]
        },
        Case("signatures, without DO") {
            $0.answers = [.a(www, 1), .other(www, .rrsig, [0, 1])]
            $0.expected = ["A www.example.com."]
        },
        Case("signatures, with DO") {
            $0.dnssecOK = true
            $0.answers = [
                .a(www, 1), .other(www, .rrsig, [0, 1], ttl: 100), .other("x.example.com", .rrsig),
            ]
            $0.expected = ["A www.example.com.", "RRSIG www.example.com."]
            $0.lifetime = 100
        },
        Case("a DNAME with its synthesized CNAME") {
            $0.answers = [
                .other("example.com", .dname, [0]), .cname(www, "www.example.org"),
                .a("www.example.org", 1), .other("example.net", .dname, [0]),
            ]
            $0.expected = ["DNAME example.com.", "CNAME www.example.com.", "A www.example.org."]
        },
        Case("a CNAME for a CNAME query") {
            $0.type = .cname
            $0.answers = [.cname(www, "b.example.org"), .cname("b.example.org", "c.example.org")]
            $0.expected = ["CNAME www.example.com."]
        },
        Case("an answer with TTL 0 is not cached") {
            $0.answers = [.a(www, 1, ttl: 0)]
            $0.expected = ["A www.example.com."]
            $0.lifetime = 0
        },
        Case("a TTL of years") {
            $0.answers = [.a(www, 1, ttl: 0x7FFF_FFFF)]
            $0.expected = ["A www.example.com."]
            $0.lifetime = 86_400
        },
        Case("records of unknown types pass unchanged") {
            $0.type = RecordType(rawValue: 65_280)
            $0.answers = [.other(www, RecordType(rawValue: 65_280), [1, 2, 3])]
            $0.expected = ["TYPE65280 www.example.com."]
        },
    ]

    private static let negative: [Case] = [
        Case("NXDOMAIN") {
            $0.rcode = .nxDomain
            $0.authorities = [.soa("example.com", minimum: 60)]
            $0.expectedAuthorities = ["SOA example.com."]
            $0.lifetime = 60
        },
        Case("NODATA") {
            $0.authorities = [.soa("example.com", minimum: 3_600, ttl: 30)]
            $0.expectedAuthorities = ["SOA example.com."]
            $0.lifetime = 30
        },
        Case("denials with SOA TTLs of 1 h and 1 s") {
            $0.authorities = [.soa("example.com", minimum: 3_600)]
            $0.expectedAuthorities = ["SOA example.com."]
            $0.lifetime = 300
        },
        Case("a denial without SOA") {
            $0.rcode = .nxDomain
            $0.lifetime = 5
        },
        Case("the SOA of another zone") {
            $0.authorities = [.soa("example.org")]
            $0.lifetime = 5
        },
        Case("a referral") {
            $0.authorities = [.other("example.com", .ns)]
            $0.lifetime = 5
        },
        Case("NSEC records, without DO") {
            $0.rcode = .nxDomain
            $0.authorities = [
                .soa("example.com"), .other("example.com", .nsec), .other("example.com", .rrsig),
            ]
            $0.expectedAuthorities = ["SOA example.com."]
            $0.lifetime = 60
        },
        Case("NSEC records, with DO") {
            $0.dnssecOK = true
            $0.rcode = .nxDomain
            $0.authorities = [
                .soa("example.com"), .other("example.com", .nsec), .other("example.com", .nsec3),
                .other("example.com", .rrsig), .other("example.com", .ns),
            ]
            $0.expectedAuthorities = [
                "SOA example.com.", "NSEC example.com.", "NSEC3 example.com.",
                "RRSIG example.com.",
            ]
            $0.lifetime = 60
        },
        Case("a CNAME to a name that does not exist") {
            $0.rcode = .nxDomain
            $0.answers = [.cname(www, "b.example.org", ttl: 40)]
            $0.authorities = [.soa("example.org")]
            $0.expected = ["CNAME www.example.com."]
            $0.expectedAuthorities = ["SOA example.org."]
            $0.lifetime = 40
        },
        Case("a CNAME, and the SOA of the zone of the query name") {
            $0.answers = [.cname(www, "b.example.org")]
            $0.authorities = [.soa("example.com")]
            $0.expected = ["CNAME www.example.com."]
            $0.lifetime = 5
        },
        Case("a CNAME loop") {
            $0.answers = [
                .cname(www, "b.example.com"), .cname("b.example.com", "c.example.com"),
                .cname("c.example.com", www),
            ]
            $0.expected = [
                "CNAME www.example.com.", "CNAME b.example.com.", "CNAME c.example.com.",
            ]
            $0.lifetime = 5
        },
        Case("a CNAME to itself") {
            $0.answers = [.cname(www, www)]
            $0.expected = ["CNAME www.example.com."]
            $0.lifetime = 5
        },
        Case("only records of another name") {
            $0.answers = [.a("evil.example.net", 1)]
            $0.lifetime = 5
        },
    ]

    @Test(arguments: positive)
    private func `an answer keeps only the records that answer the query`(_ example: Case) throws {
        try check(example)
    }

    @Test(arguments: negative)
    private func `a denial keeps only the SOA and, with DO, its proof`(_ example: Case) throws {
        try check(example)
    }

    private func check(_ example: Case) throws {
        let query = Query(
            question: Question(name: Self.www, type: example.type),
            dnssecOK: example.dnssecOK
        )
        var message = Message(header: Header())
        message.rcode = example.rcode
        message.answers = example.answers
        message.authorities = example.authorities
        message.additionals = example.additionals
        let resolution = try Resolution(message, to: query, TTLPolicy(), .local)
        let answer = try Answer(resolution, to: query.question)
        #expect(answer.rcode == example.rcode)
        #expect(answer.message.answers.map { "\($0.type) \($0.name)" } == example.expected)
        #expect(
            answer.message.authorities.map { "\($0.type) \($0.name)" }
                == example.expectedAuthorities
        )
        #expect(answer.message.additionals.isEmpty)
        #expect(resolution.lifetime == example.lifetime)
        #expect(resolution.variant == query.variant)
        #expect(answer.message.authorities.allSatisfy { $0.ttl <= 300 })
    }

    @Test
    func `a CNAME chain is followed up to the limit`() throws {
        func names(_ count: Int) throws -> [Name] {
            try (0..<count).map { $0 == 0 ? Self.www : try Name("n\($0).example.org") }
        }
        for (length, isAnswered) in [(15, true), (16, true), (17, false), (200, false)] {
            let chain = try names(length + 1)
            var message = Message(header: Header())
            message.answers = zip(chain, chain.dropFirst()).map { .cname($0, $1) }
            message.answers.append(.a(chain[length], 1))
            let question = Question(name: Self.www, type: .a)
            let answer = try Answer(
                Resolution(message, to: Query(question: question), TTLPolicy(), .local),
                to: question
            )
            #expect(answer.message.answers.contains { $0.type == .a } == isAnswered, "\(length)")
        }
    }

    @Test
    func `an RRset has its lowest TTL, within the settings' bounds`() throws {
        var policy = TTLPolicy()
        policy.positive = 60...600
        let clamped = policy.clamped([
            .a(Self.www, 1, ttl: 500), .a(Self.www, 2, ttl: 100), .aaaa(Self.www, 3, ttl: 7),
            .cname("b.example.com", Self.www, ttl: 9_999),
            .other(Self.www, .rrsig, [0, 1], ttl: 400),
            .other(Self.www, .rrsig, [0, 28], ttl: 300),
            .a("WWW.example.com", 4, ttl: 90),
        ])
        #expect(clamped.map(\.ttl) == [90, 90, 60, 600, 400, 300, 90])
    }

    @Test
    func `an explanation is an EDNS option (RFC 8914)`() {
        let explanation = Explanation(code: .noReachableAuthority, text: "no")
        #expect(explanation.option == [0, 15, 0, 4, 0, 22, 0x6E, 0x6F])
    }
}
