// SPDX-License-Identifier: Apache-2.0

/// JSON parser (RFC 8259) for replies of possibly hostile servers.
///
/// Strict where parsers differ: no duplicate keys in an object, UTF-8 without lone surrogates, no
/// leading zeros, nothing after the value. The nesting depth, and so the recursion, is limited.
struct JSONReader {
    private let text: [UInt8]

    /// Index of the next octet.
    private var position = 0

    /// Values parsed so far.
    private var nodes: [JSONDocument.Node] = []

    /// Parses a whole text.
    ///
    /// - Throws: `UnreadableReply.tooLarge` or `.notJSON`.
    static func read(_ text: [UInt8]) throws(UnreadableReply) -> JSONValue {
        guard text.count <= VendorLimits.maximumJSON else {
            throw .tooLarge(octets: text.count)
        }
        var reader = JSONReader(text: text)
        reader.nodes.reserveCapacity(min(64, text.count))
        try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == text.count else { throw reader.fault }
        return JSONValue(JSONDocument(text, reader.nodes))
    }

    private init(text: [UInt8]) {
        self.text = text
    }

    /// Syntax error at the current position.
    private var fault: UnreadableReply { .notJSON(at: position) }

    /// The next octet; nil at the end.
    private var next: UInt8? { position < text.count ? text[position] : nil }
}

// MARK: - Values

extension JSONReader {
    /// Parses a value and the white space before it.
    private mutating func value(depth: Int) throws(UnreadableReply) {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): try object(depth: depth + 1)
        case UInt8(ascii: "["): try array(depth: depth + 1)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal("true", .bool(true))
        case UInt8(ascii: "f"): try literal("false", .bool(false))
        case UInt8(ascii: "n"): try literal("null", .null)
        default: try number()
        }
    }

    /// Appends a node for a value from `start` to the current position.
    private mutating func note(_ kind: JSONDocument.Node.Kind, from start: Int) {
        nodes.append(
            JSONDocument.Node(kind: kind, range: start..<position, end: nodes.count + 1)
        )
    }

    private mutating func object(depth: Int) throws(UnreadableReply) {
        guard depth <= VendorLimits.maximumJSONDepth else { throw fault }
        let object = nodes.count
        note(.object, from: position)
        position += 1
        skipSpace()
        if take("}") { return }
        var count = 0
        repeat {
            skipSpace()
            let start = position
            let key = nodes.count
            try string()
            count += 1
            guard count <= VendorLimits.maximumJSONMembers, !hasKey(like: key, in: object) else {
                throw .notJSON(at: start)
            }
            skipSpace()
            guard take(":") else { throw fault }
            try value(depth: depth)
            skipSpace()
        } while take(",")
        guard take("}") else { throw fault }
        nodes[object].end = nodes.count
    }

    /// Returns true if an earlier member of `object` has the same key as node `key`.
    private func hasKey(like key: Int, in object: Int) -> Bool {
        var member = object + 1
        while member < key {
            if isSameText(member, key) { return true }
            member = nodes[member + 1].end
        }
        return false
    }

    /// Returns true if two string nodes have the same text.
    private func isSameText(_ first: Int, _ second: Int) -> Bool {
        let (a, b) = (nodes[first], nodes[second])
        if case (.string(false), .string(false)) = (a.kind, b.kind) {
            return a.range.count == b.range.count && text[a.range] == text[b.range]
        }
        return Self.unescape(text[a.range]) == Self.unescape(text[b.range])
    }

    private mutating func array(depth: Int) throws(UnreadableReply) {
        guard depth <= VendorLimits.maximumJSONDepth else { throw fault }
        let array = nodes.count
        note(.array, from: position)
        position += 1
        skipSpace()
        if take("]") { return }
        repeat {
            try value(depth: depth)
            skipSpace()
        } while take(",")
        guard take("]") else { throw fault }
        nodes[array].end = nodes.count
    }

    private mutating func literal(
        _ word: String,
        _ kind: JSONDocument.Node.Kind
    ) throws(UnreadableReply) {
        let start = position
        for octet in word.utf8 {
            guard next == octet else { throw fault }
            position += 1
        }
        note(kind, from: start)
    }

    /// Parses a number (RFC 8259 §6).
    private mutating func number() throws(UnreadableReply) {
        let start = position
        _ = take("-")
        let first = position
        guard digits() > 0, text[first] != UInt8(ascii: "0") || position == first + 1 else {
            throw fault
        }
        var isInteger = true
        if take(".") {
            isInteger = false
            guard digits() > 0 else { throw fault }
        }
        if take("e") || take("E") {
            isInteger = false
            if !take("+") { _ = take("-") }
            guard digits() > 0 else { throw fault }
        }
        note(isInteger ? .integer : .otherNumber, from: start)
    }
}

// MARK: - Strings

extension JSONReader {
    private mutating func string() throws(UnreadableReply) {
        guard take("\"") else { throw fault }
        let start = position
        var hasEscapes = false
        var isASCII = true
        while let octet = next {
            switch octet {
            case UInt8(ascii: "\""):
                guard isASCII || Self.isUTF8(text[start..<position]) else {
                    throw .notJSON(at: start)
                }
                note(.string(hasEscapes: hasEscapes), from: start)
                position += 1
                return
            case UInt8(ascii: "\\"):
                position += 1
                _ = try escape()
                hasEscapes = true
            case 0x00...0x1F:
                throw fault
            default:
                isASCII = isASCII && octet < 0x80
                position += 1
            }
        }
        throw fault
    }

    /// Returns true if the octets are valid UTF-8; escapes are ASCII.
    private static func isUTF8(_ octets: ArraySlice<UInt8>) -> Bool {
        String(validating: octets, as: Unicode.UTF8.self) != nil
    }

    /// Returns the contents of an already validated string, with its escapes replaced.
    static func unescape(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        var reader = JSONReader(text: Array(octets))
        var plain: [UInt8] = []
        while let octet = reader.next {
            reader.position += 1
            if octet == UInt8(ascii: "\\"), let scalar = try? reader.escape() {
                plain += UTF8.encode(scalar) ?? []
            } else {
                plain.append(octet)
            }
        }
        return plain
    }

    /// Parses an escape after its backslash.
    private mutating func escape() throws(UnreadableReply) -> Unicode.Scalar {
        guard let character = next else { throw fault }
        position += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            return Unicode.Scalar(character)
        case UInt8(ascii: "b"): return "\u{08}"
        case UInt8(ascii: "f"): return "\u{0C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try scalar()
        default: throw fault
        }
    }

    /// Parses the digits after `\u`, for a surrogate pair both halves.
    private mutating func scalar() throws(UnreadableReply) -> Unicode.Scalar {
        let first = try codeUnit()
        var value = UInt32(first)
        if UTF16.isLeadSurrogate(first) {
            guard take("\\"), take("u") else { throw fault }
            let second = try codeUnit()
            guard UTF16.isTrailSurrogate(second) else { throw fault }
            value = 0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(value) else { throw fault }
        return scalar
    }

    /// Parses four hexadecimal digits.
    private mutating func codeUnit() throws(UnreadableReply) -> UInt16 {
        guard position + 4 <= text.count,
            let octets = Hexadecimal.decode(text[position..<position + 4])
        else { throw fault }
        position += 4
        return UInt16(octets[0]) << 8 | UInt16(octets[1])
    }
}

// MARK: - Octets

extension JSONReader {
    private mutating func skipSpace() {
        while let octet = next, octet <= 0x20,
            octet == 0x20 || 0x09...0x0A ~= octet || octet == 0x0D
        {
            position += 1
        }
    }

    /// Skips `character` if it is next; returns true if it was.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Skips decimal digits and returns their number.
    private mutating func digits() -> Int {
        let start = position
        while let octet = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) {
            position += 1
        }
        return position - start
    }
}

extension Unicode.UTF8 {
    fileprivate static func encode(_ scalar: Unicode.Scalar) -> [UInt8]? {
        encode(scalar).map { (encoded: EncodedScalar) in [UInt8](encoded) }
    }
}
