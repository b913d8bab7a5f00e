// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Malformed and hostile messages")
struct HostileMessageTests {
    #if DEBUG
    private static let mutations = 20_000
    #else
    private static let mutations = 200_000
    #endif

    @Test
    func `a message survives encoding and parsing`() throws {
        var random = RandomMessages(seed: 1)
        for _ in 0..<2_000 {
            let message = random.message()
            let octets = message.encoded()
            let read = try Message(parsing: octets)
            #expect(read == message)
            #expect(read.encoded() == octets)
        }
    }

    @Test
    func `every prefix of a valid message is refused`() throws {
        var random = RandomMessages(seed: 2)
        for _ in 0..<60 {
            let octets = random.message().encoded()
            for count in octets.indices {
                let error = #expect(throws: WireError.self) {
                    try Message(parsing: Array(octets[..<count]))
                }
                #expect(0...count ~= (error?.offset ?? -1))
            }
        }
    }

    @Test
    func `mutated messages are refused, or survive encoding and parsing`() throws {
        var random = RandomMessages(seed: 3)
        var accepted = 0
        var octets: [UInt8] = []
        for round in 0..<Self.mutations {
            if round.isMultiple(of: 20) { octets = random.message().encoded() }
            let mutant = Self.mutate(octets, with: &random.random)
            do throws(WireError) {
                let message = try Message(parsing: mutant)
                accepted += 1
                guard let written = message.encodedIfItFits() else { continue }
                guard try Message(parsing: written) == message else {
                    Issue.record("not the same: \(mutant)")
                    return
                }
            } catch {
                guard 0...mutant.count ~= error.offset else {
                    Issue.record("\(error) is outside: \(mutant)")
                    return
                }
            }
        }
        #expect(accepted > Self.mutations / 20)
        #expect(accepted < Self.mutations)
    }

    private static func mutate(_ octets: [UInt8], with random: inout Seeded) -> [UInt8] {
        var mutant = octets
        for _ in 0..<Int.random(in: 1...3, using: &random) where !mutant.isEmpty {
            let place = Int.random(in: mutant.indices, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0: mutant[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1: mutant[place] = UInt8.random(in: 0...255, using: &random)
            case 2: mutant[place] = [0, 1, 63, 64, 0x80, 0xC0, 0xFF][Int(random.next() % 7)]
            case 3: mutant.remove(at: place)
            case 4: mutant.insert(mutant[place], at: place)
            case 5:
                guard place + 1 < mutant.count else { continue }
                let target = UInt16.random(in: 0...UInt16(mutant.count), using: &random)
                mutant[place] = 0xC0 | UInt8(target >> 8 & 0x3F)
                mutant[place + 1] = UInt8(target & 0xFF)
            default: mutant.removeLast(mutant.count - place)
            }
        }
        return mutant
    }

    @Test
    func `a message with the maximum number of records is parsed`() throws {
        let count = (65_535 - 12) / 11
        var octets = header(0, count, 0, 0)
        for _ in 0..<count { octets += hex("00 FF00 0001 00000000 0000") }
        let message = try Message(parsing: octets)
        #expect(message.answers.count == count)
        #expect(message.encoded() == octets)
    }

    @Test
    func `a message full of maximum-length names by pointers is parsed`() throws {
        let label = [63] + [UInt8](repeating: 0x61, count: 63)
        let longest = label + label + label + [61] + [UInt8](repeating: 0x62, count: 61) + [0]
        var octets = longest + hex("0001 0001")
        let count = (65_535 - 12 - octets.count) / 14
        for _ in 0..<count { octets += hex("C00C 0002 0001 00000000 0002 C00C") }
        let message = try Message(parsing: header(1, count, 0, 0) + octets)
        #expect(message.answers.count == count)
        #expect(message.encoded() == header(1, count, 0, 0) + octets)
    }
}
