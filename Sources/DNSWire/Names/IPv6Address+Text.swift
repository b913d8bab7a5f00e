// SPDX-License-Identifier: Apache-2.0

// MARK: - Making

extension IPv6Address {
    /// Parses the form of RFC 4291 §2.2, without brackets and zones.
    package init?(_ text: some StringProtocol) {
        guard 2...45 ~= text.utf8.count else { return nil }
        self.init(text: Array(text.utf8)[...])
    }

    /// Not generic, because unspecialised generic code is slow.
    init?(text: ArraySlice<UInt8>) {
        guard 2...45 ~= text.count else { return nil }
        let colon = UInt8(ascii: ":")
        // `count` groups are parsed so far; `gap` of these groups are before `::`.
        var value: UInt128 = 0
        var count = 0
        var gap: Int?
        var rest = text
        if rest.starts(with: [colon, colon]) {
            gap = 0
            rest = rest.dropFirst(2)
        }
        while !rest.isEmpty {
            let piece = rest.prefix { $0 != colon }
            rest = rest[piece.endIndex...]
            if rest.isEmpty, let quad = IPv4Address(text: piece) {
                value = value << 32 | UInt128(quad.value)
                count += 2
            } else {
                guard let group = Self.group(piece) else { return nil }
                value = value << 16 | UInt128(group)
                count += 1
            }
            guard count <= 8 else { return nil }
            guard rest.popFirst() != nil else { break }
            if rest.first == colon {
                guard gap == nil else { return nil }
                gap = count
                rest = rest.dropFirst()
            } else if rest.isEmpty {
                return nil
            }
        }
        if let gap {
            guard count < 8 else { return nil }
            let after = UInt128(16 * (count - gap))
            let low = value & ((1 << after) - 1)
            value = (value >> after) << UInt128(16 * (8 - gap)) | low
        } else if count != 8 {
            return nil
        }
        self.init(high: UInt64(value >> 64), low: UInt64(truncatingIfNeeded: value))
    }

    private static func group(_ digits: ArraySlice<UInt8>) -> UInt16? {
        guard 1...4 ~= digits.count else { return nil }
        var value: UInt16 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt16(digit - 0x30)
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt16(digit - 0x57)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt16(digit - 0x37)
            default: return nil
            }
        }
        return value
    }
}

// MARK: - Conformances

extension IPv6Address: CustomStringConvertible {
    /// Text as in RFC 5952; IPv4-mapped addresses end with a dotted quad (§5).
    package var description: String {
        if let mapped { return "::ffff:\(mapped)" }
        let groups = groups
        guard let gap = Self.longestZeroRun(groups) else { return Self.join(groups[...]) }
        return Self.join(groups[..<gap.lowerBound]) + "::" + Self.join(groups[gap.upperBound...])
    }

    /// Returns the first longest run of at least two zero groups (RFC 5952 §4.2).
    private static func longestZeroRun(_ groups: [UInt16]) -> Range<Int>? {
        var longest: Range<Int>?
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 {
                start = index + 1
            } else if index - start >= 1, index - start >= (longest?.count ?? 0) {
                longest = start..<index + 1
            }
        }
        return longest
    }

    private static func join(_ groups: ArraySlice<UInt16>) -> String {
        groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
}
