// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Testing

@testable import Resolver

extension Name: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        do {
            try self.init(text)
        } catch {
            fatalError("\(text): \(error)")
        }
    }
}

extension Record {
    static func a(_ name: Name, _ value: UInt32, ttl: UInt32 = 300) -> Record {
        Record(name: name, ttl: ttl, data: .a(IPv4Address(value: value)))
    }

    static func aaaa(_ name: Name, _ low: UInt64, ttl: UInt32 = 300) -> Record {
        let address = IPv6Address(high: 0x2001_0DB8_0000_0000, low: low)
        return Record(name: name, ttl: ttl, data: .aaaa(address))
    }

    static func cname(_ name: Name, _ target: Name, ttl: UInt32 = 300) -> Record {
        Record(name: name, ttl: ttl, data: .cname(target))
    }

    static func soa(_ name: Name, minimum: UInt32 = 60, ttl: UInt32 = 3_600) -> Record {
        Record(
            name: name,
            ttl: ttl,
            data: .soa(
                SOA(
                    primary: "ns.example.com",
                    mailbox: "hostmaster.example.com",
                    serial: 1,
                    refresh: 2,
                    retry: 3,
                    expire: 4,
                    minimum: minimum
                )
            )
        )
    }

    static func other(_ name: Name, _ type: RecordType, _ octets: [UInt8] = [1], ttl: UInt32 = 300)
        -> Record
    {
        Record(name: name, type: type, ttl: ttl, data: .opaque(octets))
    }
}

struct Answer {
    let resolution: Resolution
    let message: Message

    var rcode: RCode { message.rcode }

    var answers: [String] { message.answers.map { "\($0.type) \($0.data)" } }

    var zone: Name? { message.authorities.first { $0.type == .soa }?.name }

    init(_ resolution: Resolution, to question: Question) throws {
        self.resolution = resolution
        let sections = resolution.sections
        var octets: [UInt8] = [0, 0, 0x80, UInt8(resolution.rcode.rawValue), 0, 1]
        for count in [sections.answerCount, sections.authorityCount, sections.additionalCount] {
            octets += [UInt8(count >> 8), UInt8(count & 0xFF)]
        }
        octets += question.name.octets
        for number in [question.type.rawValue, question.recordClass.rawValue] {
            octets += [UInt8(number >> 8), UInt8(number & 0xFF)]
        }
        message = try Message(parsing: octets + sections.octets)
    }
}
