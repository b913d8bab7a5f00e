// SPDX-License-Identifier: Apache-2.0

/// Base64 (RFC 4648 §4).
enum Base64 {
    /// Decodes padded text; nil for other text or non-zero pad bits (RFC 4648 §3.5).
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count / 4 * 3)
        var bits: UInt32 = 0
        var digits = 0
        var padding = 0
        for character in text {
            if character == UInt8(ascii: "=") {
                padding += 1
                continue
            }
            guard padding == 0, let value = value(of: character) else { return nil }
            bits = bits << 6 | value
            digits += 1
            guard digits.isMultiple(of: 4) else { continue }
            octets += [UInt8(bits >> 16 & 0xFF), UInt8(bits >> 8 & 0xFF), UInt8(bits & 0xFF)]
            bits = 0
        }
        switch (digits % 4, padding) {
        case (0, 0):
            break
        case (2, 2) where bits & 0x0F == 0:
            octets.append(UInt8(bits >> 4))
        case (3, 1) where bits & 0x03 == 0:
            octets += [UInt8(bits >> 10), UInt8(bits >> 2 & 0xFF)]
        default:
            return nil
        }
        return octets
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
