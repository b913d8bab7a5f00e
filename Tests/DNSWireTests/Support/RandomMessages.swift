// SPDX-License-Identifier: Apache-2.0
import DNSWire

struct RandomMessages {
    var random: Seeded

    init(seed: UInt64) { random = Seeded(seed: seed) }

    mutating func message() -> Message {
        var header = Header(id: random.next16(), flags: random.next16())
        header.isTruncated = false
        var message = Message(header: header)
        message.questions = many(0...2) { $0.question() }
        message.answers = many(0...6) { $0.record() }
        message.authorities = many(0...2) { $0.record() }
        message.additionals = many(0...3) { $0.record() }
        if Bool.random(using: &random) { message.edns = edns() }
        return message
    }

    mutating func name() -> Name {
        let labels = ["example", "EXAMPLE", "com", "org", "www", "a", "_dns", "x.y", "\u{1}"]
        var name = Name.root
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let label = labels[Int.random(in: 0..<labels.count, using: &random)]
            name = (try? Name(wire: [UInt8(label.utf8.count)] + label.utf8 + name.octets)) ?? name
        }
        return name
    }

    mutating func question() -> Question {
        Question(name: name(), type: RecordType(rawValue: random.next16()))
    }

    mutating func record() -> Record {
        let ttl = UInt32.random(in: 0...0x7FFF_FFFF, using: &random)
        let owner = name()
        switch Int.random(in: 0..<13, using: &random) {
        case 0: return Record(name: owner, ttl: ttl, data: .a(ipv4()))
        case 1: return Record(name: owner, ttl: ttl, data: .aaaa(ipv6()))
        case 2: return Record(name: owner, ttl: ttl, data: .cname(name()))
        case 3: return Record(name: owner, ttl: ttl, data: .ns(name()))
        case 4: return Record(name: owner, ttl: ttl, data: .ptr(name()))
        case 5:
            let data = RecordData.mx(preference: random.next16(), exchange: name())
            return Record(name: owner, ttl: ttl, data: data)
        case 6:
            let strings = many(1...3) { $0.octets(0...40) }
            return Record(name: owner, ttl: ttl, data: .txt(strings))
        case 7:
            let data = RecordData.srv(
                priority: random.next16(),
                weight: random.next16(),
                port: random.next16(),
                target: name()
            )
            return Record(name: owner, ttl: ttl, data: data)
        case 8: return Record(name: owner, ttl: ttl, data: .soa(soa()))
        case 9: return Record(name: owner, type: .https, ttl: ttl, data: .svcb(binding()))
        case 10: return Record(name: owner, type: .svcb, ttl: ttl, data: .svcb(binding()))
        case 11:
            let data = RecordData.opaque(octets(0...8))
            return Record(name: owner, type: .a, recordClass: .ch, ttl: ttl, data: data)
        default:
            let type = RecordType(rawValue: UInt16.random(in: 256...65_535, using: &random))
            return Record(name: owner, type: type, ttl: ttl, data: .opaque(octets(0...64)))
        }
    }

    mutating func edns() -> EDNS {
        var edns = EDNS(udpPayloadSize: random.next16())
        edns.version = UInt8.random(in: 0...1, using: &random)
        edns.extendedRCode = UInt8.random(in: 0...255, using: &random)
        edns.flags = random.next16()
        edns.options = many(0...4) { $0.option() }
        return edns
    }

    private mutating func option() -> EDNSOption {
        switch Int.random(in: 0..<7, using: &random) {
        case 0:
            let length = UInt8.random(in: 0...32, using: &random)
            let count = (Int(length) + 7) / 8
            let address = octets(count...count).enumerated().map { place, octet in
                octet & ~UInt8(truncatingIfNeeded: 0xFF >> max(0, Int(length) - 8 * place))
            }
            return .unknown(code: 8, octets: [0, 1, length, 0] + address)
        case 1: return .unknown(code: 8, octets: [0, 2, 56, 48] + octets(7...7))
        case 2:
            let hasServer = Bool.random(using: &random)
            return .cookie(client: octets(8...8), server: hasServer ? octets(8...32) : [])
        case 3: return .keepalive(timeout: Bool.random(using: &random) ? random.next16() : nil)
        case 4: return .unknown(code: 12, octets: octets(0...64))
        case 5:
            let code = ExtendedError(rawValue: UInt16.random(in: 0...40, using: &random))
            return .extendedError(code: code, text: Bool.random(using: &random) ? "für alle" : "")
        default:
            let code = UInt16.random(in: 100...65_535, using: &random)
            return .unknown(code: code, octets: octets(0...24))
        }
    }

    private mutating func binding() -> ServiceBinding {
        var parameters: [ServiceBinding.Parameter] = []
        if Bool.random(using: &random) {
            parameters.append(.init(key: .alpn, value: ascii("\u{2}h2\u{2}h3")))
        }
        if Bool.random(using: &random) {
            parameters.append(.init(key: ServiceKey(rawValue: 700), value: octets(0...30)))
        }
        var binding = ServiceBinding(
            priority: UInt16.random(in: 1...9, using: &random),
            target: name(),
            parameters: parameters
        )
        binding.setHint(.ipv4Hint, many(0...2) { .v4($0.ipv4()) })
        binding.setHint(.ipv6Hint, many(0...2) { .v6($0.ipv6()) })
        return binding
    }

    private mutating func soa() -> SOA {
        SOA(
            primary: name(),
            mailbox: name(),
            serial: UInt32.random(in: 0...UInt32.max, using: &random),
            refresh: 1,
            retry: 2,
            expire: 3,
            minimum: UInt32.random(in: 0...UInt32.max, using: &random)
        )
    }

    private mutating func ipv4() -> IPv4Address {
        IPv4Address(value: UInt32.random(in: 0...UInt32.max, using: &random))
    }

    private mutating func ipv6() -> IPv6Address {
        IPv6Address(high: random.next(), low: random.next())
    }

    private mutating func octets(_ count: ClosedRange<Int>) -> [UInt8] {
        many(count) { UInt8.random(in: 0...255, using: &$0.random) }
    }

    private mutating func many<Element>(
        _ count: ClosedRange<Int>,
        _ make: (inout RandomMessages) -> Element
    ) -> [Element] {
        let total = Int.random(in: count, using: &random)
        return (0..<total).map { _ in make(&self) }
    }
}

extension Seeded {
    mutating func next16() -> UInt16 { UInt16(truncatingIfNeeded: next()) }
}
