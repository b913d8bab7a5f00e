// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import Upstream

@Suite("One query, and the check of its reply (RFC 5452 §9, RFC 7766 §5)")
struct UpstreamExchangeTests {
    private static func exchange(
        _ name: Name = "www.example.com",
        seed: UInt64 = 1,
        dnssecOK: Bool = false,
        checkingDisabled: Bool = false
    ) -> UpstreamExchange {
        var random = Seeded(seed: seed)
        return UpstreamExchange(
            Query(
                question: Question(name: name, type: .a),
                dnssecOK: dnssecOK,
                checkingDisabled: checkingDisabled
            ),
            random: &random
        )
    }

    @Test(arguments: [(false, false), (true, false), (false, true), (true, true)])
    func `a query has RD, the client's DO and CD, and the daemon's OPT record`(
        _ dnssecOK: Bool,
        _ checkingDisabled: Bool
    ) throws {
        let exchange = Self.exchange(dnssecOK: dnssecOK, checkingDisabled: checkingDisabled)
        let message = try Message(parsing: exchange.message)
        #expect(!message.header.isResponse)
        #expect(message.header.recursionDesired)
        #expect(message.header.checkingDisabled == checkingDisabled)
        #expect(!message.header.authenticData)
        #expect(message.questions == [Question(name: "www.example.com", type: .a)])
        let edns = try #require(message.edns)
        #expect(edns.dnssecOK == dnssecOK)
        #expect(edns.udpPayloadSize == 1232)
        #expect(edns.options.isEmpty)
    }

    @Test(arguments: [
        UpstreamExchange.Transport.datagram, .stream, .encrypted,
    ])
    func `AD is requested only from upstreams that validate (RFC 6840 §5.7)`(
        _ transport: UpstreamExchange.Transport
    ) throws {
        var random = Seeded(seed: 1)
        let query = Query(
            question: Question(name: "www.example.com", type: .a),
            dnssecOK: false,
            checkingDisabled: false
        )
        for validates in [false, true] {
            let exchange = UpstreamExchange(
                query,
                over: transport,
                validates: validates,
                random: &random
            )
            let header = try Message(parsing: exchange.message).header
            #expect(header.authenticData == validates)
            #expect(header.recursionDesired && !header.checkingDisabled)
        }
    }

    @Test
    func `each query has a random ID and random letter case`() throws {
        var random = Seeded(seed: 2)
        let query = Query(
            question: Question(name: "www.example.com", type: .a),
            dnssecOK: false,
            checkingDisabled: false
        )
        var ids: Set<UInt16> = []
        var spellings: Set<[UInt8]> = []
        var upper = 0
        for _ in 0..<400 {
            let message = try Message(
                parsing: UpstreamExchange(query, random: &random).message
            )
            ids.insert(message.header.id)
            spellings.insert(message.questions[0].name.octets)
            upper += message.questions[0].name.octets.count { (0x41...0x5A).contains($0) }
        }
        #expect(ids.count > 380)
        #expect(spellings.count > 350)
        #expect(abs(upper - 2_600) < 200)
    }

    @Test
    func `random case changes only letters, in names of any length`() throws {
        var random = Seeded(seed: 3)
        let label = String(repeating: "a-1_", count: 15)
        let long = try Name("\(label).\(label).\(label).\(label)")
        let odd = try Name(wire: [6, 0x40, 0x5B, 0x60, 0x7B, 0xC1, 0xE1, 0])
        for name in [long, odd, .root] {
            let query = Query(
                question: Question(name: name, type: .aaaa),
                dnssecOK: false,
                checkingDisabled: false
            )
            let sent = try Message(parsing: UpstreamExchange(query, random: &random).message)
            #expect(sent.questions[0].name == name)
            if name != long { #expect(sent.questions[0].name.octets == name.octets) }
        }
    }

    private enum Verdict { case reply, foreign, truncated, doubtful, otherCase }

    private struct Case: CustomTestStringConvertible {
        let testDescription: String
        let completion: Verdict
        let isAcceptedOverTCP: Bool
        let make: @Sendable ([UInt8]) -> [UInt8]

        init(
            _ label: String,
            _ completion: Verdict,
            overTCP: Bool? = nil,
            _ make: @escaping @Sendable ([UInt8]) -> [UInt8]
        ) {
            testDescription = label
            self.completion = completion
            isAcceptedOverTCP = overTCP ?? (completion == .reply)
            self.make = make
        }
    }

    private static let cases: [Case] = [
        Case("the reply", .reply) { reply(to: $0) },
        Case("SERVFAIL is a valid reply", .reply) { query in
            reply(to: query) {
                $0.rcode = .servFail
                $0.answers = []
            }
        },
        Case("a reply without EDNS", .reply) { query in reply(to: query) { $0.edns = nil } },
        Case("the query itself", .foreign) { $0 },
        Case("another ID", .foreign) { query in reply(to: query) { $0.header.id &+= 1 } },
        Case("another name", .foreign) { query in
            reply(to: query) { $0.questions[0].name = "www.example.org" }
        },
        Case("another type", .foreign) { query in
            reply(to: query) { $0.questions[0].type = .aaaa }
        },
        Case("another class", .foreign) { query in
            reply(to: query) { $0.questions[0].recordClass = .ch }
        },
        Case("no question", .foreign) { query in reply(to: query) { $0.questions = [] } },
        Case("the question twice", .foreign) { query in
            reply(to: query) { $0.questions += $0.questions }
        },
        Case("another opcode", .foreign) { query in
            reply(to: query) { $0.header.opcode = 4 }
        },
        Case("nothing", .foreign) { _ in [] },
        Case("garbage", .foreign) { _ in [UInt8](repeating: 0xC0, count: 40) },
        Case("half a reply", .doubtful) { Array(reply(to: $0).dropLast(20)) },
        Case("a reply and one more octet", .doubtful) { reply(to: $0) + [0] },
        Case("the case of a letter changed", .otherCase, overTCP: true) { query in
            reply(to: query) { $0.questions[0].name = $0.questions[0].name.respelt }
        },
        Case("unreadable records of a domain that a client owns", .doubtful) { query in
            var octets = reply(to: query) { $0.edns = nil }
            octets[octets.count - 5] = 3
            return octets
        },
        Case("cut", .truncated) { query in reply(to: query) { $0.header.isTruncated = true } },
        Case("cut, and the case of a letter changed", .truncated, overTCP: false) { query in
            reply(to: query) {
                $0.header.isTruncated = true
                $0.questions[0].name = $0.questions[0].name.respelt
            }
        },
        Case("cut, with another ID", .foreign) { query in
            reply(to: query) {
                $0.header.isTruncated = true
                $0.header.id ^= 0x8000
            }
        },
    ]

    @Test(arguments: cases)
    private func `valid, truncated, doubtful and forged replies are distinguished`(_ example: Case)
    {
        let exchange = Self.exchange()
        let octets = example.make(exchange.message)
        let completion: Verdict =
            switch exchange.validate(octets) {
            case .foreign: .foreign
            case .truncated: .truncated
            case .doubtful: .doubtful
            case .otherCase: .otherCase
            case .reply: .reply
            }
        #expect(completion == example.completion)
        #expect((exchange.judgeStream(octets) != nil) == example.isAcceptedOverTCP)
    }

    @Test
    func `the letter case of each letter of a long name is checked`() throws {
        let label = String(repeating: "a1z-", count: 15)
        for name in [try Name("\(label).\(label).\(label).\(label)"), "ab.c"] {
            let exchange = Self.exchange(name)
            let right = reply(to: exchange.message)
            guard case .reply = exchange.validate(right) else {
                Issue.record("rejected: \(right)")
                return
            }
            for place in 12..<12 + name.octets.count {
                var octets = right
                octets[place] ^= 0x20
                let isLetter = name.octets[place - 12] >= 0x61
                switch exchange.validate(octets) {
                case .otherCase: #expect(isLetter)
                case .foreign: #expect(!isLetter)
                default: Issue.record("octet \(place)")
                }
            }
        }
    }

    @Test
    func `a reply with one wrong bit is never accepted`() throws {
        var random = Seeded(seed: 4)
        let exchange = Self.exchange()
        let right = reply(to: exchange.message)
        for _ in 0..<5_000 {
            var octets = right
            let place = Int.random(in: 0..<33, using: &random)
            guard ![2, 3].contains(place) else { continue }
            octets[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            if case .reply = exchange.validate(octets) {
                Issue.record("taken: \(octets)")
                return
            }
        }
    }
}
