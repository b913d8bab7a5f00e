// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Fleet

/// Seal with a simple hash in place of HMAC; the tests of the vendors cover HMAC.
func testSeal(_ secret: UInt64 = 7) -> FleetSeal {
    FleetSeal { text in
        (0..<4).flatMap { word -> [UInt8] in
            var hash = 0xCBF2_9CE4_8422_2325 ^ secret &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(word)
            for octet in text { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01B3 }
            hash ^= hash >> 29
            var octets: [UInt8] = []
            octets.append(bigEndian: hash)
            return octets
        }
    }
}

@Suite("Shared values")
struct FleetValueTests {
    static func value() throws -> FleetValue {
        var value = FleetValue()
        value.fetchedAt = 1_700_000_000_123
        value.v4 = .init(
            [try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2"))],
            ttl: 60
        )
        value.v6 = .init([try #require(IPAddress("2001:db8::1"))], ttl: 30)
        value.server = ([198, 51, 100, 7], 443)
        value.machine = "web-7"
        return value
    }

    @Test("an encoded value is decoded unchanged")
    func roundTrip() throws {
        var values = [try Self.value(), FleetValue()]
        values[1].v4 = .init([], ttl: 0)
        values[1].denial = Denial(.nxDomain, ttl: 5)
        values.append(values[1])
        values[2].denial = Denial(.noData)
        for value in values {
            let octets = try #require(value.octets)
            #expect(try FleetValue(octets: octets) == value)
            for count in 0..<octets.count {
                #expect(throws: FleetRejection.self) {
                    try FleetValue(octets: Array(octets[..<count]))
                }
            }
            #expect(throws: FleetRejection.self) { try FleetValue(octets: octets + [0]) }
        }
    }

    @Test(
        "the age is rounded up and never negative; the TTL is the lower of the A and AAAA TTLs"
    )
    func age() throws {
        let value = try Self.value()
        #expect(value.ttl == 30)
        for (milliseconds, age) in [(-5_000, 0), (0, 0), (1, 1), (1_000, 1), (1_001, 2)] {
            #expect(value.age(at: value.fetchedAt + Int64(milliseconds)) == UInt32(age))
        }
    }

    @Test(
        "a value or a flush with a negative or very large time is rejected as unreadable",
        arguments: [.min, .min + 1, -1, 1 << 62, .max] as [Int64]
    )
    func time(_ time: Int64) throws {
        var value = try Self.value()
        value.fetchedAt = time
        let octets = try #require(value.octets)
        #expect(throws: FleetRejection.unreadable) { try FleetValue(octets: octets) }
        let flush = FleetFlush(.all, isSoft: false, at: time)
        #expect(throws: FleetRejection.unreadable) { try FleetFlush(octets: flush.octets) }
    }

    @Test("a sealed text does not show its content, and a changed text is rejected as forged")
    func sealed() throws {
        let seal = testSeal()
        let text = Array(String(repeating: "www.example.com web-7 ", count: 4).utf8)
        let sealed = seal.seal(text, for: [1])
        #expect(try seal.open(sealed, for: [1]) == text)
        #expect(sealed != seal.seal(text, for: [1]))
        #expect(!String(decoding: sealed, as: UTF8.self).contains("web"))
        for index in sealed.indices.dropFirst() {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: FleetRejection.forged) { try seal.open(changed, for: [1]) }
        }
        #expect(throws: FleetRejection.unknownVersion) {
            try seal.open([9] + sealed.dropFirst(), for: [1])
        }
        #expect(throws: FleetRejection.forged) { try seal.open(sealed, for: [2]) }
        #expect(throws: FleetRejection.forged) { try testSeal(8).open(sealed, for: [1]) }
        #expect(throws: FleetRejection.forged) { try seal.open([1, 2], for: [1]) }
        #expect(throws: FleetRejection.tooLong) {
            try seal.open([UInt8](repeating: 1, count: 4_097), for: [1])
        }
    }

    @Test("a key depends on name, families, vendor settings and secret, but not on the letter case")
    func keys() throws {
        let name = try Name("www.example.com")
        let key = FleetKey(name, .v4, view: "v", testSeal())
        #expect(key == FleetKey(try Name("WWW.Example.com"), .v4, view: "v", testSeal()))
        for other in [
            FleetKey(try Name("ww.example.com"), .v4, view: "v", testSeal()),
            FleetKey(name, .both, view: "v", testSeal()),
            FleetKey(name, .v4, view: "w", testSeal()),
            FleetKey(name, .v4, view: "v", testSeal(8)),
        ] { #expect(other != key) }
        let text = String(decoding: key.value, as: UTF8.self)
        #expect(text.hasPrefix("httpdnsd:{") && text.hasSuffix("}:v") && !text.contains("example"))
    }

    @Test("a flush applies to older answers; in a full list, the oldest flush applies to all names")
    func flushes() throws {
        let (name, other) = (try Name("www.example.com"), try Name("www.example.org"))
        var list = FlushList()
        let first = list.add(
            FleetFlush(.tree(try Name("example.com")), isSoft: false, at: 100),
            now: 200
        )
        #expect(first)
        let again = list.add(
            FleetFlush(.tree(try Name("example.com")), isSoft: false, at: 100),
            now: 200
        )
        #expect(!again)
        #expect(list.covers(name, fetchedAt: 100, now: 200))
        #expect(!list.covers(name, fetchedAt: 101, now: 200))
        #expect(!list.covers(other, fetchedAt: 100, now: 200))
        #expect(!list.covers(name, fetchedAt: 100, now: 100 - 2_001))
        for index in 0..<FleetLimits.flushes {
            list.add(
                FleetFlush(
                    .name(try Name("n\(index).test")),
                    isSoft: false,
                    at: 101 + Int64(index)
                ),
                now: 300
            )
        }
        #expect(list.flushes.count <= FleetLimits.flushes)
        #expect(list.covers(other, fetchedAt: 100, now: 300))
        #expect(!list.covers(other, fetchedAt: 101, now: 300))
        list.add(FleetFlush(.all, isSoft: false, at: 290), now: 300)
        #expect(list.flushes.isEmpty && list.covers(other, fetchedAt: 290, now: 300))
        for ahead: Int64 in [10_000, 3_600_000] {
            list.add(FleetFlush(.all, isSoft: false, at: 400 + ahead), now: 400 + ahead)
            list.add(FleetFlush(.name(name), isSoft: false, at: 400), now: 400)
            #expect(list.covers(name, fetchedAt: 400, now: 400))
        }
        let flush = FleetFlush(.name(name), isSoft: true, at: 5)
        #expect(try FleetFlush(octets: flush.octets) == flush)
    }

    @Test("after a soft flush of all names, this machine still applies hard flushes from Redis")
    func storedFlushes() throws {
        let name = FleetFlush(.name(try Name("www.example.com")), isSoft: false, at: 100)
        let soft = FleetFlush(.name(try Name("www.example.org")), isSoft: true, at: 110)
        let all = FleetFlush(.all, isSoft: true, at: 120)
        var list = FlushList()
        func added(_ stored: [FleetFlush], isFull: Bool = false) -> [FleetFlush] {
            list.add(stored: stored, isFull: isFull, now: 200)
        }
        list.add(all, now: 200)
        #expect(added([name, soft, all]) == [name])
        #expect(added([name, soft, all]).isEmpty)
        list = FlushList()
        #expect(added([name, soft, all]) == [name, soft, all])
        #expect(added([name, soft, all]).isEmpty)
        list = FlushList()
        let older = FleetFlush(.all, isSoft: true, at: 100)
        #expect(added([name, soft], isFull: true) == [older, name, soft])
        #expect(added([name, soft], isFull: true).isEmpty)
        let hard = FleetFlush(.all, isSoft: false, at: 115)
        list.add(hard, now: 200)
        #expect(list.flushes.isEmpty)
        #expect(added([name, soft, hard], isFull: true).isEmpty)
    }

    @Test("the Redis clock may go back by at most 60 s in total, or further if the clock was ahead")
    func clock() throws {
        let wall: Int64 = 1_700_000_000
        func clock(_ offset: Int64) throws -> EngineClock {
            let words = ["\(wall + offset)", "0"].map { RedisReply.text(Array($0.utf8)) }
            let now = Instant(nanoseconds: 0)
            return try #require(EngineClock(.list(words), sent: now, received: now))
        }
        func accepts(_ offsets: [Int64]) throws -> Bool {
            var former = try clock(offsets[0])
            for offset in offsets.dropFirst() {
                var next = try clock(offset)
                let now = Instant(nanoseconds: 0)
                guard next.falseStep(from: former, at: now, wallSeconds: wall) == nil else {
                    return false
                }
                former = next
            }
            return true
        }
        #expect(try accepts([0, -59, -30, -59]))
        #expect(try !accepts([0, -59, -118]))
        #expect(try !accepts([0, -30, -61]))
        // After a step back of more than 60 s, the new time of the Redis clock is accepted only if
        // two conditions are true: the new time is closer to this machine's clock than the old time
        // was, and it is at most 60 s behind this machine's clock.
        #expect(try accepts([3_600, 10, 0, -50]))
        #expect(try !accepts([3_600, -61]))
        #expect(try !accepts([0, -59, 200, -199]))
        #expect(try !accepts([0, -50, 100, -40, 100, -61]))
    }
}
