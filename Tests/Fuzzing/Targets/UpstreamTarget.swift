// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Resolver
import Upstream

extension FuzzTarget {
    /// The first octet of the input sets which fields of the query the attacker knows; the forged
    /// reply follows.
    static let upstream = FuzzTarget(name: "upstream") { octets in
        var input = FuzzInput(octets)
        let knows = input.octet()
        let asked = Question(name: knows & 8 == 0 ? UpstreamOracle.name : .root, type: .a)
        let query = Query(question: asked, dnssecOK: knows & 1 != 0, checkingDisabled: false)
        let exchange = UpstreamOracle.exchange(query, draw: 1)
        let reply = UpstreamOracle.forge(Array(input.rest), knows, exchange.message)
        try UpstreamOracle.validate(reply, query, exchange)
    }
}

private struct Draw: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

private enum UpstreamOracle {
    static let name = (try? Name("www.example.com")) ?? .root

    /// Returns an exchange for `query`; equal values of `draw` (random bits) give equal IDs.
    static func exchange(_ query: Query, draw: UInt64) -> UpstreamExchange {
        var random = Draw(state: draw)
        return UpstreamExchange(query, random: &random)
    }

    static func forge(_ octets: [UInt8], _ knows: UInt8, _ message: [UInt8]) -> [UInt8] {
        var reply = octets
        if knows & 2 != 0, reply.count >= 2 { reply.replaceSubrange(..<2, with: message[..<2]) }
        if knows & 4 != 0, reply.count >= 12 {
            let end = 12 + (knows & 8 == 0 ? name.octets.count : 1) + 4
            reply.insert(contentsOf: message[12..<end], at: 12)
        }
        return reply
    }

    static func validate(_ octets: [UInt8], _ query: Query, _ exchange: UpstreamExchange) throws {
        let end = 12 + query.question.name.octets.count + 4
        let isOurs = octets.count >= end && octets[..<2] == exchange.message[..<2]
        let message = try? Message(parsing: octets)
        switch exchange.validate(octets) {
        case .foreign:
            guard let message else { return }
            let isReply =
                isOurs && message.header.isResponse && message.header.opcode == 0
                && message.question == query.question && octets[12..<end].allSatisfy { $0 < 0xC0 }
            try promise(!isReply, "our reply is refused")
        case .truncated:
            try promise(isOurs && message?.question == query.question, "wrong reply")
            try promise(message?.header.isTruncated == true, "not truncated")
        case .doubtful where octets.count == 12:
            // A server that cannot parse or process the query returns only a header.
            try promise(octets[..<2] == exchange.message[..<2], "wrong ID")
            let isError = message.map { $0.rcode != .noError && $0.rcode != .nxDomain }
            try promise(isError == true, "a bare header without an error")
        case .doubtful:
            try promise(isOurs, "another ID")
            try promise(message == nil, "a readable reply is doubtful")
        case .otherCase(let reply):
            try promise(isOurs, "another ID")
            try promise(octets[12..<end] != exchange.message[12..<end], "case unchanged")
            try promise(reply == message && reply.question == query.question, "wrong reply")
            try promise(reply.header.isResponse && !reply.header.isTruncated, "truncated reply")
        case .reply(let reply):
            try promise(isOurs && octets[12..<end] == exchange.message[12..<end], "wrong reply")
            try promise(exchange.judgeStream(octets) == reply, "another result over TCP")
            try judgeOthers(octets, query)
            switch reply {
            case .plain(let plain):
                try promise(plain.header.isResponse && !plain.header.isTruncated, "truncated reply")
                try judge(plain, message, query)
            case .message(let reply):
                try promise(reply == message && reply.question == query.question, "wrong reply")
                try promise(reply.header.isResponse && !reply.header.isTruncated, "truncated reply")
                try judgeAnswer(to: query, from: reply)
            }
        }
    }

    /// Property: a copied reply gives the same answer as the decoded reply.
    private static func judge(_ plain: PlainReply, _ message: Message?, _ query: Query) throws {
        let asked = Query(question: query.question, dnssecOK: query.dnssecOK)
        let provenance = Provenance(source: .upstream, origin: 0)
        let copied = Resolution(plain, to: asked, TTLPolicy(), provenance, isBelieved: true)
        guard let answer = copied.sections.message(to: query.question) else {
            throw Finding(description: "the copied records cannot be parsed")
        }
        let aged = copied.sections.mappingTTLs(of: query.question) { _ in 0 }
        let names = aged.message(to: query.question)?.answers.map(\.withoutTTL)
        try promise(names == answer.answers.map(\.withoutTTL), "a name changes with a TTL")
        guard let message else { return }
        let decoded = try? Resolution(message, to: asked, TTLPolicy(), provenance, isBelieved: true)
        try promise(decoded?.answers(to: query.question) == answer.answers, "wrong records")
        try promise(decoded?.lifetime == copied.lifetime, "wrong lifetime")
        try promise(decoded?.isAuthentic == copied.isAuthentic, "wrong AD flag")
        try judgeAnswer(to: query, from: message)
    }

    private static func judgeAnswer(to query: Query, from reply: Message) throws {
        let question = query.question
        let asked = Query(question: question, dnssecOK: query.dnssecOK)
        let provenance = Provenance(source: .upstream, origin: 0)
        guard let answer = try? Resolution(reply, to: asked, TTLPolicy(), provenance) else {
            return
        }
        guard let sent = answer.sections.message(to: question) else {
            throw Finding(description: "the answer for clients cannot be parsed")
        }
        let (given, received) = (sent.answers.map(\.withoutTTL), reply.answers.map(\.withoutTTL))
        try promise(Set(given).count == given.count, "a record is repeated")
        try promise(Set(given).isSubset(of: received), "a record is not of the reply")
        let wanted = received.filter {
            $0.name == question.name && $0.recordClass == question.recordClass
                && ($0.type == question.type || $0.type == .cname)
        }
        try promise(Set(wanted).isSubset(of: given), "a record of the question is lost")
        let longest = TTLPolicy().positive.upperBound
        try promise(sent.answers.allSatisfy { $0.ttl <= longest }, "a TTL exceeds the limit")
        try promise(answer.lifetime <= longest, "the lifetime exceeds the limit")
    }

    private static func judgeOthers(_ octets: [UInt8], _ query: Query) throws {
        var others = [query, query, query]
        others[0].question.type = .aaaa
        others[1].question.recordClass = .ch
        others[2].question.name = name.parent ?? .root
        for exchange in others.map({ exchange($0, draw: 1) }) + [exchange(query, draw: 2)] {
            guard case .foreign = exchange.validate(octets) else {
                throw Finding(description: "accepted as the reply to \(exchange.message)")
            }
        }
    }
}

extension Record {
    fileprivate var withoutTTL: Record {
        var record = self
        record.ttl = 0
        return record
    }
}
