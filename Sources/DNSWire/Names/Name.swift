// SPDX-License-Identifier: Apache-2.0

/// A domain name, absolute, in wire form and in the case it came in.
///
/// Two names are equal when they differ only in the case of ASCII letters (RFC 4343 §3).  Any octet
/// may be in a label (RFC 2181 §11); what may not leave this machine is somebody else's rule, see
/// ``isHostname``.
package struct Name: Sendable {
    /// The name in wire form, uncompressed.
    ///
    /// Invariant: labels of 1...63 octets, each after its length, then one zero octet; at most 255
    /// octets in all.
    package let octets: [UInt8]

    /// Wraps octets that are known to hold the invariant.
    init(checked octets: [UInt8]) {
        self.octets = octets
    }
}

// MARK: - Making

extension Name {
    /// The root, written as a lone dot.
    package static let root = Name(checked: [0])

    /// Makes a name of exactly one uncompressed name in wire form.
    ///
    /// - Throws: `compressedName`, `reservedLabel`, `nameTooLong`, `truncated`, or `trailingOctets`
    ///   when something follows the root label.
    package init(wire: some Collection<UInt8>) throws(WireError) {
        try self.init(wire: Array(wire))
    }

    /// Makes a name of exactly one uncompressed name in wire form; throws as the other does.
    package init(wire octets: [UInt8]) throws(WireError) {
        var reader = WireReader(octets.span)
        let end = try reader.skipUncompressedName()
        guard end == octets.count else { throw .trailingOctets(at: end) }
        self.init(checked: octets)
    }

    /// Returns this name with `label` before it, or nil when either would be too long or empty.
    package func prepending(label: some Collection<UInt8>) -> Name? {
        let count = label.count
        guard 1...WireLimits.labelOctets ~= count,
            1 + count + octets.count <= WireLimits.nameOctets
        else { return nil }
        var joined: [UInt8] = []
        joined.reserveCapacity(1 + count + octets.count)
        joined.append(UInt8(count))
        joined.append(contentsOf: label)
        joined.append(contentsOf: octets)
        return Name(checked: joined)
    }
}

// MARK: - Reading

extension Name {
    /// Whether this is the root.
    package var isRoot: Bool { octets.count == 1 }

    /// How many labels the name has, the root's own not counted.
    package var labelCount: Int {
        var count = 0
        var position = 0
        while octets[position] != 0 {
            position += Int(octets[position]) + 1
            count += 1
        }
        return count
    }

    /// The labels from the left, without their lengths and without the root's.
    package var labels: Labels { Labels(octets: octets) }

    /// The name without its first label, or nil for the root.
    package var parent: Name? {
        guard !isRoot else { return nil }
        return Name(checked: Array(octets[(Int(octets[0]) + 1)...]))
    }

    /// Whether the name is `other` or ends with all labels of `other`.
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

    /// The name with its ASCII capitals made small.
    package var lowercased: Name {
        Name(checked: octets.map(\.folded))
    }

    /// Whether each label is of ASCII letters, digits, hyphens and underscores, and there is one.
    ///
    /// Only such names may be put into somebody's URL.
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

    /// The text of a host name in lower case, as somebody's URL has it; nil if ``isHostname`` is false.
    ///
    /// Such a name has nothing to escape, so it is written without looking at each character.
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

    /// The labels of a name, from the left.
    package struct Labels: Sequence, IteratorProtocol {
        /// The name walked over, in wire form.
        fileprivate let octets: [UInt8]

        /// Where the next label's length is.
        private var position = 0

        /// Starts at the first label.
        fileprivate init(octets: [UInt8]) {
            self.octets = octets
        }

        /// The octets of the next label, without its length.
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
