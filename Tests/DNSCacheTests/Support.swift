// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import DNSCache

struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

extension Name: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            fatalError("\(text): \(error)")
        }
    }
}

extension RecordType {
    static let odd = RecordType(rawValue: 65_280)
}

extension CachedAnswer {
    static func addresses(
        _ name: Name,
        _ values: [UInt32] = [0xC000_0201],
        type: RecordType = .a,
        ttl: UInt32 = 60,
        variant: AnswerVariant = .any,
        source: AnswerSource = .vendor,
        server: UInt16 = 1,
        staleWindow: UInt32 = 0,
        refreshAfter: UInt32 = 0
    ) throws -> CachedAnswer {
        let question = Question(name: name, type: type)
        let records = values.map { value in
            // The cache does not read the data of types other than A, so any octets are sufficient.
            let octets = withUnsafeBytes(of: value.bigEndian) { Array($0) }
            return Record(
                name: name,
                type: type,
                recordClass: .in,
                ttl: ttl,
                data: type == .a ? .a(IPv4Address(value: value)) : .opaque(octets)
            )
        }
        return CachedAnswer(
            question: question,
            variant: variant,
            rcode: .noError,
            sections: try AnswerSections(question: question, answers: records),
            lifetime: ttl,
            source: source,
            server: server,
            staleWindow: staleWindow,
            refreshAfter: refreshAfter
        )
    }

    static func denial(
        _ name: Name,
        _ rcode: RCode = .nxDomain,
        type: RecordType = .a,
        ttl: UInt32 = 60,
        variant: AnswerVariant = .any,
        staleWindow: UInt32 = 0
    ) throws -> CachedAnswer {
        let question = Question(name: name, type: type)
        let soa = SOA(
            primary: "ns.example.com",
            mailbox: "hostmaster.example.com",
            serial: 1,
            refresh: 2,
            retry: 3,
            expire: 4,
            minimum: ttl
        )
        return CachedAnswer(
            question: question,
            variant: variant,
            rcode: rcode,
            sections: try AnswerSections(
                question: question,
                authorities: [Record(name: "example.com", ttl: ttl, data: .soa(soa))]
            ),
            lifetime: ttl,
            source: .upstream,
            server: 2,
            staleWindow: staleWindow
        )
    }

    static func failure(
        _ name: Name,
        type: RecordType = .a,
        ttl: UInt32 = 1,
        variant: AnswerVariant = .any
    ) -> CachedAnswer {
        CachedAnswer(
            question: Question(name: name, type: type),
            variant: variant,
            rcode: .servFail,
            sections: .empty,
            lifetime: ttl,
            source: .local,
            server: 0,
            staleWindow: 86_400
        )
    }

    var addresses: [UInt32] { records.flatMap { record in record.value.map { [$0] } ?? [] } }

    var ttls: [UInt32] { records.map(\.ttl) }

    private var records: [(ttl: UInt32, value: UInt32?)] {
        var message = Message(header: Header())
        message.questions = [question]
        var octets = message.encoded()
        let counts = [sections.answerCount, sections.authorityCount, sections.additionalCount]
        for (index, count) in counts.enumerated() {
            octets[6 + 2 * index] = UInt8(count >> 8)
            octets[7 + 2 * index] = UInt8(count & 0xFF)
        }
        guard let parsed = try? Message(parsing: octets + sections.octets) else { return [] }
        return (parsed.answers + parsed.authorities).map { record in
            if case .a(let address) = record.data {
                (record.ttl, address.value)
            } else {
                (record.ttl, nil)
            }
        }
    }
}

struct Asked {
    var name: Name
    var type = RecordType.a

    /// DO flag; nil if the query has no EDNS.
    var dnssecOK: Bool?
    var checkingDisabled = false

    var wantsProof = false

    var variant: AnswerVariant {
        AnswerVariant(dnssecOK: dnssecOK ?? false, checkingDisabled: checkingDisabled)
    }

    var octets: [UInt8] {
        var header = Header(id: 0xBEEF)
        header.recursionDesired = true
        header.checkingDisabled = checkingDisabled
        header.authenticData = wantsProof
        var message = Message(header: header)
        message.questions = [Question(name: name, type: type)]
        if let dnssecOK {
            var edns = EDNS(udpPayloadSize: 1232)
            edns.dnssecOK = dnssecOK
            message.edns = edns
        }
        return message.encoded()
    }
}

struct Answered {
    let hit: CacheHit
    let message: Message

    var addresses: [UInt32] {
        message.answers.compactMap { record in
            switch record.data {
            case .a(let address): address.value
            case .opaque(let octets): octets.reduce(0) { $0 << 8 | UInt32($1) }
            default: nil
            }
        }
    }

    var ttls: [UInt32] { (message.answers + message.authorities).map(\.ttl) }
}

extension AnswerTable {
    mutating func ask(_ asked: Asked, now: UInt64, limit: Int = 65_535) throws -> Answered? {
        let query = asked.octets
        let facts = try QueryFacts(checking: query.rawSpan)
        var buffer = query + [UInt8](repeating: 0xEE, count: limit - query.count)
        let before = buffer
        let hit = buffer.withMutableRawSpan { span in
            answer(facts, in: &span, limit: limit, now: now)
        }
        guard let hit else {
            #expect(buffer == before)
            return nil
        }
        let message = try Message(parsing: Array(buffer[..<hit.length]))
        #expect(message.header.id == 0xBEEF)
        #expect(message.questions.first?.name.octets == asked.name.octets)
        return Answered(hit: hit, message: message)
    }

    var hashes: Set<UInt64> {
        var hashes: Set<UInt64> = []
        var position = ring.tail
        while position < ring.head {
            let reference = ring.reference(at: position)
            if ring.isLive(reference) { hashes.insert(ring[reference].hash) }
            position += ring.length(reference)
        }
        return hashes
    }

    var namesLeft: Set<Name> {
        var names: Set<Name> = []
        var position = ring.tail
        while position < ring.head {
            let reference = ring.reference(at: position)
            if ring.isLive(reference), let name = name(reference) { names.insert(name) }
            position += ring.length(reference)
        }
        return names
    }

    func faults() -> [String] {
        var faults: [String] = []
        var live: Set<Int> = []
        var liveOctets = 0
        var negatives = 0
        var position = ring.tail
        while position < ring.head {
            let reference = ring.reference(at: position)
            let length = ring.length(reference)
            if length < 8 || length % 8 != 0 || reference - 8 + length > ring.capacity {
                return faults + ["length \(length) at \(position)"]
            }
            position += length
            guard ring.isLive(reference) else { continue }
            let header = ring[reference]
            live.insert(reference)
            liveOctets += length
            if header.isNegative { negatives += 1 }
            if index.references(header.hash).count(where: { $0 == reference }) != 1 {
                faults.append("a live entry does not have exactly one slot")
            }
        }
        if position != ring.head { faults.append("the last entry does not end at the head") }
        if ring.head - ring.tail > ring.capacity { faults.append("more is used than there is") }

        let buckets = index.octets / 64
        let indexed = Set((0..<buckets).flatMap { index.references(UInt64($0)) })
        if indexed != live { faults.append("slots refer to entries that are not live") }
        if numbers.entries != live.count { faults.append("entries are miscounted") }
        if numbers.octets != liveOctets { faults.append("octets are miscounted") }
        if numbers.negativeEntries != negatives { faults.append("denials are miscounted") }
        if UInt64(ring.capacity + index.octets) > numbers.limitOctets {
            faults.append("the limit is exceeded")
        }
        return faults
    }
}

/// Table for tests; a class, because `#expect` cannot call mutating methods of a structure.
final class TestTable {
    var table: AnswerTable

    init(limit: Int = 1 << 20, rotates: Bool = false) {
        table = AnswerTable(limit: limit, seed: 21, rotates: rotates)
    }

    private func milliseconds(_ seconds: Double) -> UInt64 { UInt64(seconds * 1000) }

    func insert(_ answer: CachedAnswer, at seconds: Double) {
        let isStored = table.insert(answer, now: milliseconds(seconds))
        #expect(isStored)
    }

    func ask(_ asked: Asked, at seconds: Double, limit: Int = 65_535) throws -> Answered? {
        try table.ask(asked, now: milliseconds(seconds), limit: limit)
    }

    func stale(
        _ name: Name,
        _ variant: AnswerVariant = .plain,
        type: RecordType = .a,
        ttl: UInt32 = 30,
        at seconds: Double
    ) -> StaleAnswer? {
        table.staleAnswer(
            for: Question(name: name, type: type),
            variant: variant,
            ttl: ttl,
            now: milliseconds(seconds)
        )
    }

    func fresh(
        _ name: Name,
        _ variant: AnswerVariant = .plain,
        type: RecordType = .a,
        at seconds: Double
    ) -> FreshAnswer? {
        table.freshAnswer(
            for: Question(name: name, type: type),
            variant: variant,
            now: milliseconds(seconds)
        )
    }

    func expire(at seconds: Double) {
        let now = milliseconds(seconds)
        _ = table.walk(from: 0, count: .max) { _, _ in .expire(now: now) }
    }

    var entry: CacheEntry? {
        var found: CacheEntry?
        _ = table.walk(from: 0, count: .max) { table, reference in
            found = table.entry(reference, now: 0)
            return .keep
        }
        return found
    }
}
