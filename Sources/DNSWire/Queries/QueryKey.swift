// SPDX-License-Identifier: Apache-2.0

extension RawSpan {
    /// True if both names in wire form are equal in any letter case.
    package func isSameName(as other: RawSpan) -> Bool {
        guard byteCount == other.byteCount else { return false }
        var offset = 0
        while offset + 8 <= byteCount {
            guard
                octets8(at: offset).lowercasedOctets == other.octets8(at: offset).lowercasedOctets
            else { return false }
            offset += 8
        }
        return lastOctets(from: offset).lowercasedOctets
            == other.lastOctets(from: offset).lowercasedOctets
    }

    /// True if two equal names in wire form have the same letter case.
    package func hasSameCase(as other: RawSpan) -> Bool {
        var offset = 0
        while offset + 8 <= byteCount {
            guard octets8(at: offset) == other.octets8(at: offset) else { return false }
            offset += 8
        }
        return lastOctets(from: offset) == other.lastOctets(from: offset)
    }

    func hashName(into hasher: inout Hasher) {
        var offset = 0
        while offset + 8 <= byteCount {
            hasher.combine(octets8(at: offset).lowercasedOctets)
            offset += 8
        }
        hasher.combine(lastOctets(from: offset).lowercasedOctets)
    }

    /// Returns the octets from `offset` on, at most seven, as a little-endian number.
    package func lastOctets(from offset: Int) -> UInt64 {
        guard byteCount < 8 else {
            return octets8(at: byteCount - 8) >> UInt64(8 * (8 + offset - byteCount))
        }
        var octets: UInt64 = 0
        for position in offset..<byteCount {
            octets |= UInt64(uint8(at: position)) << UInt64(8 * (position - offset))
        }
        return octets
    }
}

extension UInt64 {
    var lowercasedOctets: UInt64 {
        let sevenBits = self & 0x7F7F_7F7F_7F7F_7F7F
        let atLeastA = sevenBits &+ 0x3F3F_3F3F_3F3F_3F3F
        let aboveZ = sevenBits &+ 0x2525_2525_2525_2525
        let upper = ~self & (atLeastA ^ aboveZ) & 0x8080_8080_8080_8080
        return self | (upper >> 2)
    }
}
