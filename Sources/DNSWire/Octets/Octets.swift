// SPDX-License-Identifier: Apache-2.0

/// Numbers in network order at the end of, and inside, a buffer.
extension [UInt8] {
    /// Appends the two octets of `value`, most significant first.
    mutating func append(bigEndian value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    /// Appends the four octets of `value`, most significant first.
    mutating func append(bigEndian value: UInt32) {
        append(bigEndian: UInt16(truncatingIfNeeded: value >> 16))
        append(bigEndian: UInt16(truncatingIfNeeded: value))
    }

    /// Appends the eight octets of `value`, most significant first.
    mutating func append(bigEndian value: UInt64) {
        append(bigEndian: UInt32(truncatingIfNeeded: value >> 32))
        append(bigEndian: UInt32(truncatingIfNeeded: value))
    }

    /// Overwrites the two octets at `offset` with `value`, most significant first.
    mutating func patch(_ value: UInt16, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 1] = UInt8(truncatingIfNeeded: value)
    }
}

extension UInt8 {
    /// This octet with the ASCII capitals made small, all others as they are (RFC 4343 §3).
    ///
    /// Label lengths are at most 63 and so below `A`: a whole name in wire form may be folded
    /// without looking where its labels are.
    @inline(__always)
    var folded: UInt8 {
        self &- 0x41 < 26 ? self | 0x20 : self
    }
}
