// SPDX-License-Identifier: Apache-2.0

/// Numbers in network byte order.
extension [UInt8] {
    package mutating func append(bigEndian value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    package mutating func append(bigEndian value: UInt32) {
        append(bigEndian: UInt16(truncatingIfNeeded: value >> 16))
        append(bigEndian: UInt16(truncatingIfNeeded: value))
    }

    package mutating func append(bigEndian value: UInt64) {
        append(bigEndian: UInt32(truncatingIfNeeded: value >> 32))
        append(bigEndian: UInt32(truncatingIfNeeded: value))
    }

    mutating func patch(_ value: UInt16, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 1] = UInt8(truncatingIfNeeded: value)
    }
}

extension [UInt8] {
    /// Base64 text (RFC 4648 §4).
    package var base64: String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var characters: [UInt8] = []
        for start in stride(from: 0, to: count, by: 3) {
            let group = self[start..<Swift.min(start + 3, count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                let isFilled = place <= group.count
                let digit = digits[bits >> (18 - 6 * place) & 63]
                characters.append(isFilled ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: characters, as: UTF8.self)
    }
}

extension [UInt8] {
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(2 * count)
        for octet in self {
            text.append(digits[Int(octet >> 4)])
            text.append(digits[Int(octet & 0xF)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension UInt8 {
    package var hexadecimalDigit: UInt8? {
        switch folded {
        case 0x30...0x39: self - 0x30
        case 0x61...0x66: folded - 0x61 + 10
        default: nil
        }
    }

    /// Lower-case form of an ASCII letter; other octets are unchanged (RFC 4343 §3).
    ///
    /// A caller can convert a whole name, because label lengths are below the octet `A`.
    @inline(__always)
    var folded: UInt8 { self &- 0x41 < 26 ? self | 0x20 : self }
}
