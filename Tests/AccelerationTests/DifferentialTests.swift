// SPDX-License-Identifier: Apache-2.0
import Acceleration
import DNSWire
import Testing

@testable import DNSCache
@testable import Frontend

private final class DifferentialHarness {
    static let settled = Instant.now

    let cache: AnswerCache
    let kernel: KernelAnswers
    var random: Seeded
    private(set) var known: [(name: [UInt8], type: UInt16)] = []
    private var buffer = [UInt8](repeating: 0, count: 65_535)

    init(seed: UInt64, answers: Int) throws {
        random = Seeded(seed: seed)
        let origin = Instant.now - .seconds(100)
        cache = AnswerCache(limit: 16 << 20, origin: origin, seed: seed)
        kernel = try KernelAnswers(entries: 2 * answers, origin: origin, seed: seed)
        kernel.answer(
            at: [(.loopback4, 53), (.loopback6, 53)],
            ipv4: true,
            ipv6: true
        )
        cache.setMirror(kernel)
        for _ in 0..<answers { try store() }
    }

    private func store() throws {
        let name = try name()
        let types: [UInt16] = [1, 1, 1, 28, 28, 5, 15, 16, 33, 48, 65, 255, 65_280]
        let type = types[random.below(types.count)]
        let question = Question(name: name, type: RecordType(rawValue: type))
        let dnssecOK = random.once(in: 2)
        let checkingDisabled = random.once(in: 4)
        let record = { [self] (type: RecordType, count: Int) in
            let data = (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            return Record(
                name: random.once(in: 3) ? try self.name() : name,
                type: type,
                recordClass: .in,
                ttl: UInt32(random.below(200)) + 1,
                data: .opaque(data)
            )
        }
        let opaque = RecordType(rawValue: 65_281)
        var answers: [Record] = []
        var authorities: [Record] = []
        for _ in 0..<random.below(random.once(in: 8) ? 20 : 5) {
            answers.append(try record(opaque, random.once(in: 16) ? 300 : 4 + random.below(20)))
        }
        if answers.isEmpty || random.once(in: 8) {
            for _ in 0..<random.below(3) { authorities.append(try record(opaque, 30)) }
        }
        var answer = CachedAnswer(
            question: question,
            variant: random.once(in: 2)
                ? .any : AnswerVariant(dnssecOK: dnssecOK, checkingDisabled: checkingDisabled),
            rcode: answers.isEmpty && random.once(in: 2) ? .nxDomain : .noError,
            sections: try AnswerSections(
                question: question,
                answers: answers,
                authorities: authorities
            ),
            lifetime: 3000,
            source: .upstream,
            server: UInt16(random.below(5)),
            options: random.once(in: 16) ? [0, 15, 0, 2, 0, 3] : []
        )
        answer.isAuthentic = random.once(in: 4)
        cache.insert(answer, now: .now - .seconds(random.below(100)))
        known.append((name.octets, type))
        var query = plain(name.octets, type)
        query[3] |= checkingDisabled ? 0x10 : 0
        if dnssecOK { query = query.withOPT(size: 1232, dnssecOK: true) }
        for _ in 0..<2 { _ = worker(query, now: .now) }
        cache.writeOffers(now: .now)
    }

    func name() throws -> Name {
        var octets: [UInt8] = []
        let labels = random.once(in: 8) ? 1 + random.below(120) : 1 + random.below(4)
        for _ in 0..<labels {
            let length = 1 + random.below(random.once(in: 8) ? 63 : 12)
            guard octets.count + length + 2 <= 255 else { break }
            octets.append(UInt8(length))
            for _ in 0..<length {
                octets.append(
                    random.once(in: 20)
                        ? UInt8(truncatingIfNeeded: random.next())
                        : 0x61 + UInt8(random.below(26))
                )
            }
        }
        return try Name(wire: octets + [0])
    }

    func plain(_ name: [UInt8], _ type: UInt16) -> [UInt8] {
        [UInt8(random.below(256)), UInt8(random.below(256)), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]
            + name + [UInt8(type >> 8), UInt8(type & 0xFF), 0, 1]
    }

    func worker(_ query: [UInt8], now: Instant) -> [UInt8]? {
        buffer.replaceSubrange(0..<query.count, with: query)
        let clientContext = ClientContext(transport: .udp, address: .loopback4, isAllowed: true)
        return buffer.withMutableRawSpan { span -> Int? in
            switch QueryValidation(at: &span, count: query.count, from: clientContext) {
            case .ignored, .unusual: return nil
            case .answered(let length, _, _): return length
            case .query(let facts, _):
                return cache.withTable(now: now) { table, now in
                    table.answer(facts, in: &span, limit: facts.replyLimit, now: now)?.length
                }
            }
        }.map { Array(buffer[..<$0]) }
    }

    /// Returns a random query.
    ///
    /// If `isPlain` is true and the BPF program has a copy of the complete answer, the program must
    /// answer the query.
    func query() throws -> (octets: [UInt8], isPlain: Bool) {
        var (name, type) = known[random.below(known.count)]
        if random.once(in: 16) { type = UInt16(random.below(80)) }
        if random.once(in: 16) { name = try self.name().octets }
        for index in name.indices where random.once(in: 3) {
            if 0x61...0x7A ~= name[index] { name[index] ^= 0x20 }
        }
        var query = plain(name, type)
        if random.once(in: 4) { query[2] ^= UInt8(1 << random.below(3)) }
        if random.once(in: 2) { query[3] = UInt8(truncatingIfNeeded: random.next()) }
        if random.once(in: 2) {
            let size = random.once(in: 2) ? 1232 : random.below(1600)
            query = query.withOPT(size: size, dnssecOK: random.once(in: 2))
            if random.once(in: 16) {
                query[query.count - 1 - random.below(11)] ^= 1
                return (query, false)
            }
        }
        guard random.once(in: 4) else { return (query, true) }
        switch random.below(4) {
        case 0: query.removeLast(1 + random.below(query.count - 1))
        case 1:
            query += (0...random.below(20)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case 2: query[random.below(12)] = UInt8(truncatingIfNeeded: random.next())
        default:
            for _ in 0...random.below(4) {
                query[random.below(query.count)] = UInt8(truncatingIfNeeded: random.next())
            }
        }
        return (query, false)
    }
}

extension [UInt8] {
    fileprivate func withOPT(size: Int, dnssecOK: Bool) -> [UInt8] {
        var query = self
        query[11] = 1
        let flags: UInt8 = dnssecOK ? 0x80 : 0
        return query + [0, 0, 41, UInt8(size >> 8), UInt8(size & 0xFF), 0, 0, flags, 0, 0, 0]
    }
}

@Suite(
    "The kernel's answers equal a worker's answers",
    .enabled(if: Kernel.runsPrograms, "BPF programs need CAP_BPF and CAP_NET_ADMIN")
)
struct DifferentialTests {
    @Test(
        "the kernel's reply to each query equals the reply of a worker",
        arguments: 1...10 as ClosedRange<UInt64>
    )
    func same(_ seed: UInt64) throws {
        let world = try DifferentialHarness(seed: seed, answers: 500)
        var answered = 0
        for _ in 0..<100_000 {
            let (query, isPlain) = try world.query()
            let isIPv6 = world.random.once(in: 3)
            var frame = Frame(
                query,
                from: isIPv6 ? .loopback6 : .loopback4,
                to: isIPv6 ? .loopback6 : .loopback4
            )
            frame.isChecked = isIPv6 || world.random.once(in: 2)
            guard let reply = try world.check(frame, frame.octets, isPlain: isPlain) else {
                continue
            }
            answered += 1
            var expected = frame
            swap(&expected.source, &expected.destination)
            swap(&expected.sourcePort, &expected.destinationPort)
            expected.payload = reply.payload
            try #require(reply == expected)
        }
        #expect(answered > 30_000, "\(answered)")
        var counted: UInt64 = 0
        var position: Int? = 0
        while let start = position {
            let step = world.cache.collectMirroredHits(from: start)
            counted += step.hits.reduce(0) { $0 + $1.times }
            position = step.next
        }
        #expect(Int(counted) == answered)
    }

    @Test(
        "if the kernel replies to a malformed packet, this reply equals the reply of a worker",
        arguments: 11...14 as ClosedRange<UInt64>
    )
    func fuzzed(_ seed: UInt64) throws {
        let world = try DifferentialHarness(seed: seed, answers: 100)
        var answered = 0
        for _ in 0..<50_000 {
            let (query, _) = try world.query()
            let isIPv6 = world.random.once(in: 2)
            let ours: IPAddress = isIPv6 ? .loopback6 : .loopback4
            var octets = Frame(query, from: ours, to: ours).octets
            let headers = isIPv6 ? 62 : 42
            switch world.random.below(6) {
            case 0: octets.removeLast(world.random.below(max(1, octets.count - 60)))
            case 1: octets += [UInt8](repeating: 0, count: world.random.below(40))
            default:
                for _ in 0...world.random.below(3) {
                    octets[12 + world.random.below(headers - 12)] = UInt8(
                        truncatingIfNeeded: world.random.next()
                    )
                }
            }
            let frame = Frame(octets)
            guard let reply = try world.check(frame, octets, isPlain: false) else { continue }
            answered += 1
            let asked = try #require(frame)
            #expect(reply.isIntact == asked.isIntact)
            #expect(reply.payload.count > 12 && asked.destinationPort == 53)
            #expect(asked.destination == ours || asked.destination == .loopback4)
            #expect(asked.source == .loopback6 || asked.source.octets[0] == 127)
        }
        #expect(answered > 500, "\(answered)")
    }
}

extension DifferentialHarness {
    fileprivate func check(_ frame: Frame?, _ octets: [UInt8], isPlain: Bool) throws -> Frame? {
        let earliest = Instant.now
        let outcome = try kernel.outcome(of: octets)
        let latest = Instant.now
        guard let outcome else {
            guard let frame, isPlain, let reply = worker(frame.payload, now: latest) else {
                return nil
            }
            let isWhole = reply.count > 3 && reply[2] & 0x02 == 0
            try #require(
                !isWhole || !hasCopy(frame.payload),
                "\(frame.payload) passed, not \(reply)"
            )
            return nil
        }
        let asked = try #require(frame, "\(octets) was answered")
        let reply = try #require(Frame(outcome), "\(outcome)")
        try #require(
            reply.payload == worker(asked.payload, now: earliest)
                || reply.payload == worker(asked.payload, now: latest),
            "\(asked.payload) was answered \(reply.payload)"
        )
        return reply
    }

    private func hasCopy(_ query: [UInt8]) -> Bool {
        guard let facts = try? QueryFacts(checking: query.rawSpan), facts.recordClass == .in
        else { return false }
        let hash = cache.hash(facts, in: query.rawSpan)
        let variant = AnswerVariant(
            dnssecOK: facts.dnssecOK,
            checkingDisabled: facts.checkingDisabled
        )
        return cache.withTable { table in
            table.index.references(hash).contains { reference in
                table.ring[reference].hash == hash && table.ring[reference].isOffered
                    && AnswerVariant(rawValue: table.ring[reference].variant).suits(variant)
            }
        }
    }
}
