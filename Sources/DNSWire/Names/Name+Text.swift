// SPDX-License-Identifier: Apache-2.0

/// Error in the text of a name, with its offset in the text.
package enum NameTextError: Error, Hashable {
    case empty

    case emptyLabel(at: Int)

    case labelTooLong(at: Int)
    case nameTooLong
    case badEscape(at: Int)

    /// Space, control character or octet above ASCII, which must be written as `\DDD`.
    case unescaped(at: Int)
}

// MARK: - Making

extension Name {
    /// Parses the presentation form (RFC 1035 §5.1), with an optional final dot.
    package init(_ text: some StringProtocol) throws(NameTextError) {
        try self.init(text: Array(text.utf8)[...])
    }

    /// Not generic, because unspecialised generic code is slow.
    package init(text: ArraySlice<UInt8>) throws(NameTextError) {
        let count = text.count
        guard count > 0 else { throw .empty }
        var octets: [UInt8] = []
        octets.reserveCapacity(min(count + 2, WireLimits.nameOctets))
        octets.append(0)

        var lengthAt = 0
        var labelAt = 0
        var characters = text.makeIterator()
        var position = 0
        while let character = characters.next() {
            var octet = character
            let start = position
            position += 1
            if character == Self.dot {
                let isLoneDot = count == 1
                guard octets.count > lengthAt + 1 || isLoneDot else { throw .emptyLabel(at: start) }
                guard !isLoneDot else { break }
                lengthAt = octets.count
                labelAt = position
                octets.append(0)
                continue
            }
            if character == Self.backslash {
                octet = try Self.unescape(&characters, at: start, position: &position)
            } else if !(0x21...0x7E ~= character) {
                throw .unescaped(at: start)
            }
            guard octets[lengthAt] < UInt8(WireLimits.labelOctets) else {
                throw .labelTooLong(at: labelAt)
            }
            guard octets.count < WireLimits.nameOctets - 1 else { throw .nameTooLong }
            octets[lengthAt] += 1
            octets.append(octet)
        }
        if octets[lengthAt] != 0 { octets.append(0) }
        self.init(checked: octets)
    }

    private static func unescape(
        _ characters: inout some IteratorProtocol<UInt8>,
        at start: Int,
        position: inout Int
    ) throws(NameTextError) -> UInt8 {
        guard let first = characters.next(), first < 0x80 else { throw .badEscape(at: start) }
        position += 1
        guard 0x30...0x39 ~= first else { return first }
        guard let second = characters.next(), 0x30...0x39 ~= second,
            let third = characters.next(), 0x30...0x39 ~= third
        else { throw .badEscape(at: start) }
        position += 2
        let value = Int(first - 0x30) * 100 + Int(second - 0x30) * 10 + Int(third - 0x30)
        guard value <= 255 else { throw .badEscape(at: start) }
        return UInt8(value)
    }

    private static let dot = UInt8(ascii: ".")
    private static let backslash = UInt8(ascii: "\\")
}

// MARK: - Reading

extension Name {
    /// Presentation form without the final dot; `.` for the root.
    package var text: String { String(decoding: escaped(finalDot: isRoot), as: UTF8.self) }

    private func escaped(finalDot: Bool) -> [UInt8] {
        var characters: [UInt8] = []
        characters.reserveCapacity(octets.count + 16)
        for label in labels {
            if !characters.isEmpty { characters.append(Self.dot) }
            for octet in label { characters.append(escaping: octet, special: Self.special) }
        }
        if finalDot { characters.append(Self.dot) }
        return characters
    }

    private static let special = Array("\"();@$\\.".utf8)
}

extension [UInt8] {
    /// Appends an octet, as `\X` if special, or as `\DDD` if unprintable.
    mutating func append(escaping octet: UInt8, special: [UInt8], space: Bool = false) {
        guard 0x21...0x7E ~= octet || space && octet == 0x20 else {
            append(UInt8(ascii: "\\"))
            append(0x30 + octet / 100)
            append(0x30 + octet / 10 % 10)
            append(0x30 + octet % 10)
            return
        }
        if special.contains(octet) { append(UInt8(ascii: "\\")) }
        append(octet)
    }
}

// MARK: - Conformances

extension Name: CustomStringConvertible {
    package var description: String { String(decoding: escaped(finalDot: true), as: UTF8.self) }
}

extension NameTextError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty: "empty name; write the root as `.`"
        case .emptyLabel(let offset): "empty label at character \(offset + 1)"
        case .labelTooLong(let offset): "label longer than 63 octets at character \(offset + 1)"
        case .nameTooLong: "name longer than 255 octets"
        case .badEscape(let offset): "invalid escape at character \(offset + 1)"
        case .unescaped(let offset):
            "character \(offset + 1) is not a visible ASCII character; write an international name in"
                + " the form xn--"
        }
    }
}
