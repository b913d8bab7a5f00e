// SPDX-License-Identifier: Apache-2.0

/// Reads JSON (RFC 8259) from servers that may be hostile.
///
/// Strict where readers differ, so that a reply cannot mean one thing to us and another to whoever
/// checked it: a key must not come twice in an object, text must be UTF-8 without lone surrogates,
/// numbers have no leading zeros, and nothing follows the value.  Recursion is as deep as the
/// nesting, which is bounded.
struct JSONReader {
    /// The octets of the text.
    private let text: [UInt8]

    /// The octet that is read next.
    private var position = 0

    /// Reads a whole text.
    ///
    /// - Throws: `UnreadableReply.tooLarge` or `.notJSON`.
    static func read(_ text: [UInt8]) throws(UnreadableReply) -> JSONValue {
        guard text.count <= VendorLimits.maximumJSON else {
            throw .tooLarge(octets: text.count)
        }
        var reader = JSONReader(text: text)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == text.count else { throw reader.fault }
        return value
    }

    /// Starts at the first octet.
    private init(text: [UInt8]) {
        self.text = text
    }

    /// What to throw at this place.
    private var fault: UnreadableReply { .notJSON(at: position) }

    /// The next octet, or nil at the end.
    private var next: UInt8? { position < text.count ? text[position] : nil }
}

// MARK: - Values

extension JSONReader {
    /// Reads a value and the space before it.
    private mutating func value(depth: Int) throws(UnreadableReply) -> JSONValue {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): return try object(depth: depth + 1)
        case UInt8(ascii: "["): return try array(depth: depth + 1)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return try number()
        }
    }

    /// Reads an object from its brace on.
    private mutating func object(depth: Int) throws(UnreadableReply) -> JSONValue {
        guard depth <= VendorLimits.maximumJSONDepth else { throw fault }
        position += 1
        var members = JSONValue.Members()
        skipSpace()
        if take("}") { return .object(members) }
        repeat {
            skipSpace()
            let start = position
            let key = try string()
            skipSpace()
            guard take(":") else { throw fault }
            let value = try value(depth: depth)
            guard members.add(key, value) else { throw .notJSON(at: start) }
            skipSpace()
        } while take(",")
        guard take("}") else { throw fault }
        return .object(members)
    }

    /// Reads an array from its bracket on.
    private mutating func array(depth: Int) throws(UnreadableReply) -> JSONValue {
        guard depth <= VendorLimits.maximumJSONDepth else { throw fault }
        position += 1
        var elements: [JSONValue] = []
        skipSpace()
        if take("]") { return .array(elements) }
        repeat {
            elements.append(try value(depth: depth))
            skipSpace()
        } while take(",")
        guard take("]") else { throw fault }
        return .array(elements)
    }

    /// Reads `word`, which stands for `value`.
    private mutating func literal(
        _ word: String,
        _ value: JSONValue
    ) throws(UnreadableReply) -> JSONValue {
        for octet in word.utf8 {
            guard next == octet else { throw fault }
            position += 1
        }
        return value
    }

    /// Reads a number (RFC 8259 §6).
    private mutating func number() throws(UnreadableReply) -> JSONValue {
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
        let literal = String(decoding: text[start..<position], as: Unicode.UTF8.self)
        guard isInteger, let integer = Int64(literal) else { return .otherNumber }
        return .integer(integer)
    }
}

// MARK: - Strings

extension JSONReader {
    /// Reads a string from its quotation mark on.
    private mutating func string() throws(UnreadableReply) -> String {
        guard take("\"") else { throw fault }
        let start = position
        // What came before the last escape, and where what came after it begins.
        var octets: [UInt8] = []
        var plain = position
        while let octet = next {
            switch octet {
            case UInt8(ascii: "\""):
                let rest = text[plain..<position]
                position += 1
                let string =
                    octets.isEmpty
                    ? String(validating: rest, as: Unicode.UTF8.self)
                    : String(validating: octets + rest, as: Unicode.UTF8.self)
                guard let string else { throw .notJSON(at: start) }
                return string
            case UInt8(ascii: "\\"):
                octets += text[plain..<position]
                position += 1
                try escape(into: &octets)
                plain = position
            case 0x00...0x1F:
                throw fault
            default:
                position += 1
            }
        }
        throw fault
    }

    /// Reads what follows a backslash.
    private mutating func escape(into octets: inout [UInt8]) throws(UnreadableReply) {
        guard let character = next else { throw fault }
        position += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): octets.append(character)
        case UInt8(ascii: "b"): octets.append(0x08)
        case UInt8(ascii: "f"): octets.append(0x0C)
        case UInt8(ascii: "n"): octets.append(0x0A)
        case UInt8(ascii: "r"): octets.append(0x0D)
        case UInt8(ascii: "t"): octets.append(0x09)
        case UInt8(ascii: "u"): octets += UTF8.encode(try scalar()) ?? []
        default: throw fault
        }
    }

    /// Reads the digits after `\u`, and of a pair of surrogates both halves.
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

    /// Reads four hexadecimal digits.
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
    /// Skips the four characters that are space to JSON.
    private mutating func skipSpace() {
        while let octet = next, octet <= 0x20,
            octet == 0x20 || 0x09...0x0A ~= octet || octet == 0x0D
        {
            position += 1
        }
    }

    /// Skips `character` if it is next, and tells whether it was.
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Skips decimal digits and tells how many there were.
    private mutating func digits() -> Int {
        let start = position
        while let octet = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) {
            position += 1
        }
        return position - start
    }
}

extension Unicode.UTF8 {
    /// The octets of one scalar.
    fileprivate static func encode(_ scalar: Unicode.Scalar) -> [UInt8]? {
        encode(scalar).map { (encoded: EncodedScalar) in [UInt8](encoded) }
    }
}
