// SPDX-License-Identifier: Apache-2.0
import DNSWire

enum Hexadecimal {
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count / 2)
        var index = text.startIndex
        while index < text.endIndex {
            guard let high = text[index].hexadecimalDigit,
                let low = text[index + 1].hexadecimalDigit
            else {
                return nil
            }
            octets.append(high << 4 | low)
            index += 2
        }
        return octets
    }
}
