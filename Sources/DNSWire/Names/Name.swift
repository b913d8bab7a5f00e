// SPDX-License-Identifier: Apache-2.0

/// Absolute domain name in wire form, in its original letter case.
///
/// Comparison ignores the case of ASCII letters (RFC 4343 §3). A label may contain any octet
/// (RFC 2181 §11).
package struct Name: Sendable {
    /// Wire form, at most 255 octets: each label (1...63 octets) after its length, then a zero.
    package let octets: [UInt8]

    init(checked octets: [UInt8]) { self.octets = octets }
}

// MARK: - Making

extension Name {
    package static let root = Name(checked: [0])

    /// Parses an uncompressed name.
    ///
    /// - Throws: `compressedName`, `reservedLabel`, `nameTooLong`, `truncated` or `trailingOctets`.
    package init(wire: some Collection<UInt8>) throws(WireError) {
        try self.init(wire: Array(wire))
    }

    package init(wire octets: [UInt8]) throws(WireError) {
        var reader = WireReader(octets.span)
        let end = try reader.skipUncompressedName()
        guard end == octets.count else { throw .trailingOctets(at: end) }
        self.init(checked: octets)
    }
}

// MARK: - Reading

extension Name {
    package var isRoot: Bool { octets.count == 1 }

    /// Does not count the root label.
    package var labelCount: Int {
        var count = 0
        var position = 0
        while octets[position] != 0 {
            position += Int(octets[position]) + 1
            count += 1
        }
        return count
    }

    /// Last seven octets of the top-level label in lower case, as a little-endian number.
    package var topLabel: UInt64 {
        let octets = octets.rawSpan
        var (start, end) = (0, 0)
        while true {
            let count = Int(octets.uint8(at: end))
            if count == 0 { break }
            (start, end) = (end + 1, end + 1 + count)
        }
        let first = Swift.max(start, end - 7)
        return octets.extracting(0..<end).lastOctets(from: first).lowercasedOctets
    }

    package var labels: Labels { Labels(octets: octets) }

    package var parent: Name? {
        guard !isRoot else { return nil }
        return Name(checked: Array(octets[(Int(octets[0]) + 1)...]))
    }

    package func isEqualOrBelow(_ other: Name) -> Bool {
        let start = octets.count - other.octets.count
        var position = 0
        while position < start { position += Int(octets[position]) + 1 }
        guard position == start else { return false }
        for index in other.octets.indices
        where octets[start + index].folded != other.octets[index].folded { return false }
        return true
    }

    package var lowercased: Name { Name(checked: octets.map(\.folded)) }

    /// True if the name has only ASCII letters, digits, hyphens and underscores.
    ///
    /// False for the root.
    package var isHostname: Bool {
        guard !isRoot else { return false }
        return labels.allSatisfy { label in
            label.allSatisfy(\.isOfHostname)
        }
    }

    /// Appends this name in lower case; returns false if ``isHostname`` is false.
    package func appendHostText(to text: inout [UInt8]) -> Bool {
        guard octets.count > 1 else { return false }
        let start = text.count - 1
        text += octets[1..<octets.count - 1]
        let octets = octets.span
        var end = 1 + Int(octets[0])
        for index in 1..<octets.count - 1 {
            let octet = octets[index]
            if index == end {
                end = index + 1 + Int(octet)
                text[start + index] = UInt8(ascii: ".")
            } else {
                guard octet.isOfHostname else { return false }
                if octet.folded != octet { text[start + index] = octet.folded }
            }
        }
        return true
    }

    /// True if `range` of `text` is this host name, with or without a final dot.
    package func isWritten(in text: [UInt8], at range: Range<Int>) -> Bool {
        let octets = octets.span
        let text = text.span.extracting(range)
        let count = octets.count - 2
        guard count > 0, text.count == count || text.count == count + 1,
            text.count == count || text[count] == UInt8(ascii: ".")
        else { return false }
        var end = Int(octets[0])
        for index in 0..<count {
            let (octet, character) = (octets[index + 1], text[index])
            if index == end {
                guard character == UInt8(ascii: ".") else { return false }
                end = index + 1 + Int(octet)
            } else {
                guard character == octet || character.folded == octet.folded,
                    character.isOfHostname
                else { return false }
            }
        }
        return true
    }

    package struct Labels: Sequence, IteratorProtocol {
        fileprivate let octets: [UInt8]
        private var position = 0
        fileprivate init(octets: [UInt8]) { self.octets = octets }

        package mutating func next() -> ArraySlice<UInt8>? {
            let count = Int(octets[position])
            guard count > 0 else { return nil }
            let start = position + 1
            position = start + count
            return octets[start..<position]
        }
    }
}

extension UInt8 {
    @inline(__always)
    fileprivate var isOfHostname: Bool {
        let bits: UInt64 = self < 64 ? 0x03FF_2000_0000_0000 : 0x07FF_FFFE_87FF_FFFE
        return self < 128 && bits &>> UInt64(self & 63) & 1 != 0
    }
}

// MARK: - Conformances

extension Name: Hashable {
    package static func == (left: Name, right: Name) -> Bool {
        left.octets.rawSpan.isSameName(as: right.octets.rawSpan)
    }

    package func hash(into hasher: inout Hasher) { octets.rawSpan.hashName(into: &hasher) }
}
