// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("In-place parsing agrees with message parsing")
struct QueryViewAgreementTests {
    #if DEBUG
    private static let packets = 30_000
    #else
    private static let packets = 300_000
    #endif

    @Test
    func `an encoded query is parsed in place as the same message`() throws {
        var random = RandomMessages(seed: 21)
        for _ in 0..<3_000 {
            let query = Self.query(&random)
            let octets = query.encoded()
            let facts = try QueryFacts(checking: octets.rawSpan)
            Self.compare(facts, octets, with: query)
        }
    }

    @Test
    func `both parsers agree on mutated queries`() throws {
        var random = RandomMessages(seed: 22)
        var octets: [UInt8] = []
        var accepted = 0
        for round in 0..<Self.packets {
            if round.isMultiple(of: 20) { octets = Self.query(&random).encoded() }
            let mutant = Self.mutate(octets, &random.random)
            let message = try? Message(parsing: mutant)
            do throws(QueryFault) {
                let facts = try QueryFacts(checking: mutant.rawSpan)
                accepted += 1
                if let message {
                    Self.compare(facts, mutant, with: message)
                } else {
                    // In-place parsing ignores the contents of EDNS options.
                    let bare = Array(mutant[..<(facts.questionEnd + 9)]) + [0, 0]
                    #expect(facts.edns != nil, "\(mutant)")
                    Self.compare(facts, bare, with: try? Message(parsing: bare))
                }
            } catch {
                Self.check(error, mutant, message)
            }
        }
        #expect(accepted > Self.packets / 10)
        #expect(accepted < Self.packets)
    }

    @Test
    func `both parsers agree on random octets`() {
        var random = Seeded(seed: 23)
        for _ in 0..<Self.packets {
            var octets = (0..<Int.random(in: 0...64, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
                    & UInt8.random(in: 0...255, using: &random)
            }
            if octets.count >= 12, Bool.random(using: &random) {
                octets.replaceSubrange(2..<12, with: hex("0100 0001 0000 0000 0000"))
            }
            let message = try? Message(parsing: octets)
            do throws(QueryFault) {
                Self.compare(try QueryFacts(checking: octets.rawSpan), octets, with: message)
            } catch {
                Self.check(error, octets, message)
            }
        }
    }

    private static func compare(_ facts: QueryFacts, _ octets: [UInt8], with message: Message?) {
        guard let message, let question = message.question else {
            Issue.record("refused as a message: \(octets)")
            return
        }
        guard !message.header.isResponse, message.header.opcode == 0,
            message.answers.isEmpty, message.authorities.isEmpty, message.additionals.isEmpty,
            message.header.flags == facts.flags || message.edns != nil,
            question.name.octets == Array(octets[12..<facts.nameEnd]),
            question.type == facts.type, question.recordClass == facts.recordClass,
            facts.checkingDisabled == message.header.checkingDisabled,
            message.edns?.udpPayloadSize == facts.edns?.payloadSize,
            message.edns?.version == facts.edns?.version,
            (message.edns?.dnssecOK ?? false) == facts.dnssecOK
        else {
            Issue.record("not the same: \(octets)")
            return
        }
    }

    private static func check(_ fault: QueryFault, _ octets: [UInt8], _ message: Message?) {
        guard let message else { return }
        let isRight =
            switch fault {
            case .ignored: message.header.isResponse
            case .otherOpcode: message.header.opcode != 0
            case .malformed: message.questions.count != 1 || hasPointer(octets)
            case .unusual:
                !message.answers.isEmpty || !message.authorities.isEmpty
                    || !message.additionals.isEmpty || message.questions.isEmpty
            }
        if !isRight { Issue.record("\(fault), but a message: \(octets)") }
    }

    private static func hasPointer(_ octets: [UInt8]) -> Bool {
        var position = 12
        while position < octets.count, (1...63).contains(octets[position]) {
            position += 1 + Int(octets[position])
        }
        return position < octets.count && octets[position] >= 0xC0
    }

    private static func query(_ random: inout RandomMessages) -> Message {
        var header = Header(id: random.random.next16(), flags: random.random.next16())
        header.isResponse = false
        header.opcode = 0
        header.rcode = .noError
        var query = Message(header: header)
        query.questions = [random.question()]
        if Bool.random(using: &random.random) {
            var edns = random.edns()
            edns.extendedRCode = 0
            query.edns = edns
        }
        return query
    }

    private static func mutate(_ octets: [UInt8], _ random: inout Seeded) -> [UInt8] {
        var mutant = octets
        for _ in 0..<Int.random(in: 1...2, using: &random) where !mutant.isEmpty {
            let place = Int.random(in: mutant.indices, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: mutant[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: mutant[place] = UInt8.random(in: 0...255, using: &random)
            case 2: mutant[place] = [0, 1, 63, 64, 0x80, 0xC0, 0xFF][Int(random.next() % 7)]
            case 3: mutant.remove(at: place)
            case 4: mutant.insert(mutant[place], at: place)
            default: mutant.removeLast(mutant.count - place)
            }
        }
        return mutant
    }
}

@Suite("The hash key of a name (RFC 4343)")
struct QueryViewKeyTests {
    @Test
    func `the hash of a name ignores the letter case`() {
        var random = RandomMessages(seed: 31)
        let hash = NameHash(seed: 0x1234_5678)
        for _ in 0..<2_000 {
            let name = random.name()
            let type = random.random.next16()
            let expected = hash(name.octets.rawSpan, type: type)
            for _ in 0..<4 {
                let other = name.respelt(&random.random)
                let found = hash(other.octets.rawSpan, type: type)
                #expect(found == expected)
                let isSame = other.octets.rawSpan.isSameName(as: name.octets.rawSpan)
                #expect(isSame)
            }
        }
    }

    @Test
    func `letters at every position are folded, and no other octets`() {
        let hash = NameHash(seed: 7)
        for count in 1...20 {
            for place in 0..<count {
                for octet in UInt8.min...UInt8.max {
                    var label = [UInt8](repeating: 0x61, count: count)
                    label[place] = octet
                    let name = [UInt8(count)] + label + [0]
                    var other = name
                    other[place + 1] ^= 0x20
                    let isLetter = (0x41...0x5A).contains(octet & 0xDF)
                    guard name.rawSpan.isSameName(as: other.rawSpan) == isLetter,
                        (hash(name.rawSpan, type: 1) == hash(other.rawSpan, type: 1)) == isLetter
                    else {
                        Issue.record("octet \(octet) at \(place) of \(count)")
                        return
                    }
                }
            }
        }
    }

    @Test
    func `comparison in place gives the same result as comparison of decoded names`() {
        var random = RandomMessages(seed: 32)
        var same = 0
        for _ in 0..<20_000 {
            let left = random.name()
            let right = random.name()
            if left == right { same += 1 }
            let isSame = left.octets.rawSpan.isSameName(as: right.octets.rawSpan)
            #expect(isSame == (left == right))
        }
        #expect(same > 100)
    }

    @Test
    func `type and secret change the hash`() {
        let name: Name = "www.example.com"
        let octets = name.octets
        let hashes = Set(
            [UInt64(1), 2].flatMap { seed in
                [UInt16(1), 28, 65].map { NameHash(seed: seed)(octets.rawSpan, type: $0) }
            }
        )
        #expect(hashes.count == 6)
    }

    @Test
    func `names that differ in one octet rarely have equal halves of the hash`() {
        let hash = NameHash(seed: 99)
        var low: Set<UInt32> = []
        var high: Set<UInt32> = []
        let count = 4_096
        for index in 0..<count {
            let octets = hex("04") + two(index >> 6) + two(index & 63) + [0]
            let value = hash(octets.rawSpan, type: 1)
            low.insert(UInt32(truncatingIfNeeded: value))
            high.insert(UInt32(value >> 32))
        }
        // With a probability of 1 in 512, two of 4096 hashes have the same 32 bits.
        #expect(low.count >= count - 2)
        #expect(high.count >= count - 2)
    }
}
