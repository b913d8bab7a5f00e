// SPDX-License-Identifier: Apache-2.0

/// Keyed hash of a name and a type, for hash tables whose keys an attacker can choose.
///
/// 1. NH (UMAC, RFC 4418 §5.2) over the lower-cased name (RFC 4343), type and length.
///
/// 2. A strongly universal multilinear hash of the two halves of the result of step 1.
///
/// 3. A bijective, non-linear mix, which breaks arithmetic progressions of hashes.
package final class NameHash: Sendable {
    /// Secret numbers for step 1: two for type and length, then one per 64 bits of a name.
    private let secrets: InlineArray<34, UInt64>

    private let lowFactor: UInt128
    private let highFactor: UInt128
    private let addend: UInt128

    /// Secret factor for step 3; odd, so that the multiplication is bijective.
    private let mixer: UInt64

    private static var longestName: Int { 255 }

    /// Derives the secrets from `seed`, a random number that is never stored or sent.
    package init(seed: UInt64) {
        var words = SecretWords(seed: seed, purpose: 1)
        secrets = InlineArray { _ in words.next() }
        lowFactor = words.nextWide()
        highFactor = words.nextWide()
        addend = words.nextWide()
        mixer = words.next() | 1
    }

    package func callAsFunction(_ name: RawSpan, type: UInt16) -> UInt64 {
        let count = name.byteCount
        precondition(count <= Self.longestName, "a name has at most 255 octets")
        var sum = product(UInt64(type) << 8 | UInt64(count), 0, at: 0)
        var offset = 0
        var place = 2
        while offset + 16 <= count {
            sum &+= product(word(name, offset), word(name, offset + 8), at: place)
            offset += 16
            place += 2
        }
        if offset + 8 <= count {
            let last = name.lastOctets(from: offset + 8).lowercasedOctets
            sum &+= product(word(name, offset), last, at: place)
        } else {
            sum &+= product(name.lastOctets(from: offset).lowercasedOctets, 0, at: place)
        }
        return mix(sum)
    }

    // MARK: - Steps

    private func word(_ name: RawSpan, _ offset: Int) -> UInt64 {
        name.octets8(at: offset).lowercasedOctets
    }

    private func product(_ first: UInt64, _ second: UInt64, at place: Int) -> UInt128 {
        UInt128(first &+ secrets[place]) &* UInt128(second &+ secrets[place + 1])
    }

    private func mix(_ sum: UInt128) -> UInt64 {
        let low = UInt128(UInt64(truncatingIfNeeded: sum))
        let high = sum >> 64
        let line = lowFactor &* low &+ highFactor &* high &+ addend
        var value = UInt64(truncatingIfNeeded: line >> 64)
        value ^= value >> 32
        value &*= mixer
        return value ^ value >> 29
    }
}

/// Generator of secret 64-bit numbers: SipHash-2-4 in counter mode.
package struct SecretWords {
    private let seed: UInt64
    private let purpose: UInt64
    private var counter: UInt64 = 0

    /// Starts a sequence; each use of a seed must have a different `purpose`.
    package init(seed: UInt64, purpose: UInt64) {
        self.seed = seed
        self.purpose = purpose
    }

    package mutating func next() -> UInt64 {
        var hash = SipHash(low: seed, high: purpose)
        hash.absorb(counter)
        counter += 1
        return hash.finish()
    }

    fileprivate mutating func nextWide() -> UInt128 {
        let high = UInt128(next())
        return high << 64 | UInt128(next())
    }
}
