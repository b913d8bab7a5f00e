// SPDX-License-Identifier: Apache-2.0

/// SipHash-2-4 (RFC 9018 §4.4).
struct SipHash {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    init(low: UInt64, high: UInt64) {
        v0 = low ^ 0x736F_6D65_7073_6575
        v1 = high ^ 0x646F_7261_6E64_6F6D
        v2 = low ^ 0x6C79_6765_6E65_7261
        v3 = high ^ 0x7465_6462_7974_6573
    }

    /// Adds eight octets, read as a little-endian number.
    ///
    /// In the last call, the top octet of `word` is the length of the whole input.
    mutating func absorb(_ word: UInt64) {
        v3 ^= word
        rounds(2)
        v0 ^= word
    }

    consuming func finish() -> UInt64 {
        v2 ^= 0xFF
        rounds(4)
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func rounds(_ count: Int) {
        for _ in 0..<count {
            v0 &+= v1
            v2 &+= v3
            v1 = v1 << 13 | v1 >> 51
            v3 = v3 << 16 | v3 >> 48
            v1 ^= v0
            v3 ^= v2
            v0 = v0 << 32 | v0 >> 32
            v2 &+= v1
            v0 &+= v3
            v1 = v1 << 17 | v1 >> 47
            v3 = v3 << 21 | v3 >> 43
            v1 ^= v2
            v3 ^= v0
            v2 = v2 << 32 | v2 >> 32
        }
    }
}
