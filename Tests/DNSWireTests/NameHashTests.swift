// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@Suite("Keyed hash of questions that an attacker chooses (NH, RFC 4418 §5.2)")
struct NameHashTests {
    private static let seeds: [UInt64] = [0, 1, .max, 0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F]

    private struct Chosen: Hashable {
        var name: [UInt8]
        var type: UInt16
    }

    private static func name(_ labels: [UInt8]...) -> [UInt8] {
        labels.flatMap { [UInt8($0.count)] + $0 } + [0]
    }

    /// Sets of questions that an attacker could choose to cause collisions.
    private static var families: [(label: String, questions: [Chosen])] {
        let label = [UInt8](repeating: 0x61, count: 31)
        let constants: [UInt64] = [
            0x9E37_79B9_7F4A_7C15, 0xA076_1D64_78BD_642F, 0xE703_7ED1_A0B4_28DB, 1 << 63, 1 << 31,
            0x8000_0000_8000_0000, 0, 1, .max,
        ]
        return [
            ("types", (0..<4096).map { Chosen(name: name(label), type: $0 &* 16) }),
            (
                "lengths of zeros",
                (1...63).map { Chosen(name: name([UInt8](repeating: 0, count: $0)), type: 1) }
            ),
            (
                "one bit of two words",
                (0..<8).flatMap { first in
                    (0..<8).map { second in
                        var changed = label
                        changed[7 + first] ^= 0x80
                        changed[15 + second] ^= 0x80
                        return Chosen(name: name(changed), type: 1)
                    }
                }
            ),
            (
                "public constants in words and types",
                constants.flatMap { first in
                    constants.flatMap { second in
                        [UInt16(1), 28, 65].map { type in
                            let words = [first, second].flatMap { word in
                                (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
                            }
                            // `NameHash` splits the name, with its length octets, into words of
                            // eight octets.
                            let lower = words.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
                            return Chosen(name: name(Array(label.prefix(7)) + lower), type: type)
                        }
                    }
                }
            ),
            ("types chosen to cancel the first word", cancelling(4096)),
        ]
    }

    /// Questions that would collide, for every seed, in the hash `seed ^ type * K ^ (first word)`.
    private static func cancelling(_ count: Int) -> [Chosen] {
        let base: UInt64 = 0x2121_2121_2121_211F
        let golden: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (UInt16(256)...65_000).lazy.compactMap { type -> Chosen? in
            let word = base ^ UInt64(type) &* golden
            var octets = (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
            let hasUpper = octets.dropFirst().contains { (0x41...0x5A).contains($0) }
            // After the first label, each two octets (01 01) form one label. So an even number of
            // octets must follow the first label. This is true if its length is odd.
            guard (7...63).contains(octets[0]), octets[0] & 1 == 1, !hasUpper else { return nil }
            octets += [UInt8](repeating: 1, count: 58) + [0]
            return Chosen(name: octets, type: type)
        }
        .prefix(count).map(\.self)
    }

    @Test
    func `chosen questions do not collide for any seed`() {
        for (label, questions) in Self.families {
            let distinct = Set(questions)
            #expect(distinct.count > 60, "\(label)")
            for seed in Self.seeds {
                let hash = NameHash(seed: seed)
                let hashes = Set(distinct.map { hash($0.name.rawSpan, type: $0.type) })
                #expect(hashes.count == distinct.count, "\(label), seed \(seed)")
            }
        }
    }

    @Test
    func `chosen questions spread over buckets like random questions`() {
        // With a random hash, each bucket would have at most four times the mean number of entries,
        // plus 16.
        for (label, questions) in Self.families {
            let distinct = Set(questions)
            for seed in Self.seeds {
                let hash = NameHash(seed: seed)
                for shift in [0, 8, 32, 56] {
                    var buckets = [Int](repeating: 0, count: 256)
                    for chosen in distinct {
                        let value = hash(chosen.name.rawSpan, type: chosen.type) >> shift
                        buckets[Int(value & 0xFF)] += 1
                    }
                    let most = distinct.count / 256 * 4 + 16
                    #expect(buckets.allSatisfy { $0 <= most }, "\(label), seed \(seed)")
                }
            }
        }
    }

    @Test
    func `names of every length are hashed, and each octet changes the hash`() {
        let hash = NameHash(seed: 3)
        for count in 1...255 {
            var octets = [UInt8](repeating: 1, count: count)
            let plain = hash(octets.rawSpan, type: 1)
            var seen: Set<UInt64> = [plain]
            for place in octets.indices {
                octets[place] = 2
                seen.insert(hash(octets.rawSpan, type: 1))
                octets[place] = 1
            }
            #expect(seen.count == count + 1, "\(count) octets")
        }
    }

    @Test
    func `two purposes of one seed have different secrets`() {
        var first = SecretWords(seed: 7, purpose: 1)
        var second = SecretWords(seed: 7, purpose: 2)
        let words = (0..<64).flatMap { _ in [first.next(), second.next()] }
        #expect(Set(words).count == 128)
    }
}
