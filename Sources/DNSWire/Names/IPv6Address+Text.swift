// SPDX-License-Identifier: Apache-2.0

// MARK: - Making

extension IPv6Address {
    /// Reads the text forms of RFC 4291 §2.2, the one that ends with a dotted quad included.
    ///
    /// Brackets, zones and surrounding space are not part of an address.
    package init?(_ text: some StringProtocol) {
        // 45 characters is the longest form, six groups and a quad.
        guard 2...45 ~= text.utf8.count else { return nil }
        let pieces = text.split(separator: ":", omittingEmptySubsequences: false)
        guard pieces.count >= 3 else { return nil }

        var groups: [UInt16] = []
        var gap: Int?
        for (index, piece) in pieces.enumerated() {
            if piece.isEmpty {
                // A colon at either end is allowed only as half of a double one there.
                let isEdge = index == 0 || index == pieces.count - 1
                if isEdge {
                    guard pieces[index == 0 ? 1 : index - 1].isEmpty else { return nil }
                    continue
                }
                guard gap == nil else { return nil }
                gap = groups.count
            } else if index == pieces.count - 1, piece.utf8.contains(UInt8(ascii: ".")) {
                guard let quad = IPv4Address(piece) else { return nil }
                groups.append(UInt16(truncatingIfNeeded: quad.value >> 16))
                groups.append(UInt16(truncatingIfNeeded: quad.value))
            } else {
                guard let group = Self.group(piece.utf8) else { return nil }
                groups.append(group)
            }
            guard groups.count <= 8 else { return nil }
        }
        if let gap {
            // The double colon stands for at least one group.
            guard groups.count < 8 else { return nil }
            let zeros = [UInt16](repeating: 0, count: 8 - groups.count)
            groups.insert(contentsOf: zeros, at: gap)
        }
        guard groups.count == 8 else { return nil }
        self.init(
            high: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) },
            low: groups[4...].reduce(0) { $0 << 16 | UInt64($1) }
        )
    }

    /// Reads one to four hexadecimal digits.
    private static func group(_ digits: some Collection<UInt8>) -> UInt16? {
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
    /// The canonical text of RFC 5952; v4-mapped addresses end with a dotted quad (§5).
    package var description: String {
        if let mapped { return "::ffff:\(mapped)" }
        let groups = groups
        guard let gap = Self.longestZeroRun(groups) else { return Self.join(groups[...]) }
        return Self.join(groups[..<gap.lowerBound]) + "::" + Self.join(groups[gap.upperBound...])
    }

    /// The longest run of two or more zero groups, the first of equals (RFC 5952 §4.2).
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

    /// Writes groups without leading zeros, colons between them.
    private static func join(_ groups: ArraySlice<UInt16>) -> String {
        groups.map { String($0, radix: 16) }.joined(separator: ":")
    }
}
