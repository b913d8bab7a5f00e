// SPDX-License-Identifier: Apache-2.0

/// Absolute domain name in wire form, in its original letter case.
///
/// Comparison ignores the case of ASCII letters (RFC 4343 §3). A label may contain any octet
/// (RFC 2181 §11); see ``isHostname``.
package struct Name: Sendable {
    /// Wire form, at most 255 octets: labels of 1...63 octets after their lengths, then a zero.
    package let octets: [UInt8]

    /// Creates a name from valid octets.
    init(checked octets: [UInt8]) {
        self.octets = octets
    }
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

    /// Number of labels without the root label.
    package var labelCount: Int {
        var count = 0
        var position = 0
        while octets[position] != 0 {
            position += Int(octets[position]) + 1
            count += 1
        }
        return count
    }

    /// Last seven octets of the top label in lower case, as a number; 0 for the root.
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

    /// Labels from the left, without the root label.
    package var labels: Labels { Labels(octets: octets) }

    /// Name without the first label; nil for the root.
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
        where octets[start + index].folded != other.octets[index].folded {
            return false
        }
        return true
    }

    package var lowercased: Name {
        Name(checked: octets.map(\.folded))
    }

    /// True if all labels have only ASCII letters, digits, hyphens and underscores; false for root.
    package var isHostname: Bool {
        guard !isRoot else { return false }
        return labels.allSatisfy { label in
            label.allSatisfy { octet in
                switch octet {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
                default: false
                }
            }
        }
    }

    /// Lower-case text for a URL; nil if ``isHostname`` is false.
    package var hostText: String? {
        guard isHostname else { return nil }
        var text = octets.map(\.folded)
        var label = 0
        while octets[label] != 0 {
            let next = label + 1 + Int(octets[label])
            text[next] = UInt8(ascii: ".")
            label = next
        }
        return String(decoding: text[1..<text.count - 1], as: UTF8.self)
    }

    package struct Labels: Sequence, IteratorProtocol {
        fileprivate let octets: [UInt8]

        private var position = 0

        fileprivate init(octets: [UInt8]) {
            self.octets = octets
        }

        package mutating func next() -> ArraySlice<UInt8>? {
            let count = Int(octets[position])
            guard count > 0 else { return nil }
            let start = position + 1
            position = start + count
            return octets[start..<position]
        }
    }
}

// MARK: - Conformances

extension Name: Hashable {
    package static func == (left: Name, right: Name) -> Bool {
        left.octets.rawSpan.isSameName(as: right.octets.rawSpan)
    }

    package func hash(into hasher: inout Hasher) { octets.rawSpan.hashName(into: &hasher) }
}
