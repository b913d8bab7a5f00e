// SPDX-License-Identifier: Apache-2.0

/// Reading and writing of integers in network byte order.
extension [UInt8] {
    mutating func append(bigEndian value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    mutating func append(bigEndian value: UInt32) {
        append(bigEndian: UInt16(truncatingIfNeeded: value >> 16))
        append(bigEndian: UInt16(truncatingIfNeeded: value))
    }

    mutating func append(bigEndian value: UInt64) {
        append(bigEndian: UInt32(truncatingIfNeeded: value >> 32))
        append(bigEndian: UInt32(truncatingIfNeeded: value))
    }

    /// Overwrites the two octets at `offset` with `value` in network byte order.
    mutating func patch(_ value: UInt16, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 1] = UInt8(truncatingIfNeeded: value)
    }
}

extension UInt8 {
    /// This octet with ASCII capitals mapped to lower case (RFC 4343 §3).
    ///
    /// Label lengths are at most 63, which is less than `A`. A whole name in wire form can
    /// therefore be folded without parsing its labels.
    @inline(__always)
    var folded: UInt8 {
        self &- 0x41 < 26 ? self | 0x20 : self
    }
}
