// SPDX-License-Identifier: Apache-2.0

/// JSON parser (RFC 8259) for hostile replies.
///
/// The parser rejects duplicate keys, invalid UTF-8, lone surrogates, leading zeros, and text after
/// the value.
struct JSONReader {
    private let text: [UInt8]

    private var position = 0

    private var nodes: [JSONDocument.Node] = []

    private var decoded: [UInt8] = []

    private var keys: Set<Key> = []

    private struct Key: Hashable {
        let object: Int

        let text: [UInt8]
    }

    static func read(_ text: [UInt8]) throws(UnreadableReply) -> JSONValue {
        guard text.count <= VendorLimits.maximumJSON else {
            throw .tooLarge(octets: text.count)
        }
        var reader = JSONReader(text: text)
        reader.nodes.reserveCapacity(min(48, text.count))
        try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == text.count else { throw reader.fault }
        let octets = reader.decoded.isEmpty ? text : text + reader.decoded
        return JSONValue(JSONDocument(octets, reader.nodes))
    }

    private init(text: [UInt8]) {
        self.text = text
    }

    private var fault: UnreadableReply { .notJSON(at: position) }

    private var next: UInt8? {
        @inline(__always) get { position < text.count ? text[position] : nil }
    }
}

// MARK: - Values

extension JSONReader {
    private mutating func value(depth: Int) throws(UnreadableReply) {
        skipSpace()
        guard nodes.count < VendorLimits.maximumJSONNodes else { throw fault }
        switch next {
        case UInt8(ascii: "{"): try object(depth: depth + 1)
        case UInt8(ascii: "["): try array(depth: depth + 1)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"): try literal(0x7472_7565, .bool(true))
        case UInt8(ascii: "f"): try literal(0x66_616C_7365, .bool(false))
        case UInt8(ascii: "n"): try literal(0x6E75_6C6C, .null)
        default: try number()
        }
    }

    @inline(__always)
    private mutating func note(_ kind: JSONDocument.Node.Kind, from start: Int) {
        note(kind, start..<position)
    }

    private mutating func note(_ kind: JSONDocument.Node.Kind, _ range: Range<Int>) {
        nodes.append(JSONDocument.Node(kind: kind, range: range, end: nodes.count + 1))
    }

    private mutating func object(depth: Int) throws(UnreadableReply) {
        guard depth <= VendorLimits.maximumJSONDepth else { throw fault }
        let object = nodes.count
        note(.object, from: position)
        position += 1
        skipSpace()
        if take("}") { return }
        var count = 0
        var marks: UInt64 = 0
        repeat {
            skipSpace()
            let start = position
            try string()
            count += 1
            guard count <= VendorLimits.maximumJSONMembers,
                insertKey(of: object, count, &marks)
            else {
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

    /// Returns false if the latest key of `object` is a duplicate.
    ///
    /// `count` is the number of keys, including the latest key. `marks` combines the marks of the
    /// earlier keys (``mark(of:)``). If `marks` lacks the mark of the latest key, this key needs no
    /// comparison.
    private mutating func insertKey(of object: Int, _ count: Int, _ marks: inout UInt64) -> Bool {
        let latest = nodes.count - 1
        guard count > Self.comparedKeys else {
            let mark = mark(of: latest)
            defer { marks |= mark }
            return marks & mark == 0 || !hasKey(of: object)
        }
        var key = count == Self.comparedKeys + 1 ? object + 1 : latest
        while key < latest {
            keys.insert(Key(object: object, text: text(of: key)))
            key = nodes[key + 1].end
        }
        return keys.insert(Key(object: object, text: text(of: latest))).inserted
    }

    private static let comparedKeys = 16

    /// Returns one bit, selected by the length, the first and the last octet of the key.
    private func mark(of key: Int) -> UInt64 {
        let range = nodes[key].range
        guard !range.isEmpty else { return 1 }
        let ends = octet(at: range.lowerBound) &* 4 &+ octet(at: range.upperBound - 1)
        return 1 << UInt64((ends &+ UInt8(truncatingIfNeeded: range.count)) & 63)
    }

    private func hasKey(of object: Int) -> Bool {
        let nodes = nodes.span
        let latest = nodes.count - 1
        let length = nodes[latest].range.count
        var key = object + 1
        while key < latest {
            if nodes[key].range.count == length, isSameText(key, latest) { return true }
            key = nodes[key + 1].end
        }
        return false
    }

    private func isSameText(_ first: Int, _ second: Int) -> Bool {
        let (a, b) = (nodes[first].range, nodes[second].range)
        guard a.count == b.count else { return false }
        for index in a.indices {
            guard octet(at: index) == octet(at: index - a.lowerBound + b.lowerBound) else {
                return false
            }
        }
        return true
    }

    private func octet(at index: Int) -> UInt8 {
        index < text.count ? text[index] : decoded[index - text.count]
    }

    private func text(of node: Int) -> [UInt8] { nodes[node].range.map(octet) }

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

    /// - Parameter word: ASCII octets of the literal, the first in the most significant position.
    private mutating func literal(
        _ word: UInt64,
        _ kind: JSONDocument.Node.Kind
    ) throws(UnreadableReply) {
        let start = position
        var shift = (63 - UInt64(word.leadingZeroBitCount)) & ~7
        while true {
            guard next == UInt8(truncatingIfNeeded: word &>> shift) else { throw fault }
            position += 1
            guard shift > 0 else { break }
            shift -= 8
        }
        note(kind, from: start)
    }

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
        skipPlain()
        guard next != UInt8(ascii: "\"") else {
            note(.string, from: start)
            position += 1
            return
        }
        try endString(from: start)
    }

    private mutating func endString(from start: Int) throws(UnreadableReply) {
        var rest = start
        let decodedStart = decoded.count
        var isASCII = true
        while let octet = next {
            switch octet {
            case UInt8(ascii: "\""):
                guard isASCII || Self.isUTF8(text[start..<position]) else {
                    throw .notJSON(at: start)
                }
                var range = start..<position
                if rest > start {
                    decoded += text[rest..<position]
                    range = text.count + decodedStart..<text.count + decoded.count
                }
                note(.string, range)
                position += 1
                return
            case UInt8(ascii: "\\"):
                decoded += text[rest..<position]
                position += 1
                decoded += UTF8.encode(try escape()) ?? UTF8.encodedReplacementCharacter
                rest = position
                skipPlain()
            case 0x00...0x1F:
                throw fault
            default:
                isASCII = isASCII && octet < 0x80
                position += 1
            }
        }
        throw fault
    }

    private mutating func skipPlain() { position = endOfPlain() }

    private func endOfPlain() -> Int {
        let text = text.span
        var end = position
        while end < text.count {
            let octet = text[end]
            guard octet &- 0x20 < 0x60, octet != UInt8(ascii: "\""), octet != UInt8(ascii: "\\")
            else { break }
            end += 1
        }
        return end
    }

    private static func isUTF8(_ octets: ArraySlice<UInt8>) -> Bool {
        String(validating: octets, as: Unicode.UTF8.self) != nil
    }

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
    @inline(__always)
    private mutating func skipSpace() {
        while let octet = next, octet <= 0x20,
            octet == 0x20 || 0x09...0x0A ~= octet || octet == 0x0D
        {
            position += 1
        }
    }

    @inline(__always)
    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func digits() -> Int {
        let start = position
        while let octet = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet) {
            position += 1
        }
        return position - start
    }
}
