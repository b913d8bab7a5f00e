// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// JSON text (RFC 8259) and the positions of its values; numbers are decoded on access.
final class JSONDocument: Sendable {
    struct Node: Sendable {
        enum Kind: Sendable {
            case null
            case bool(Bool)

            case integer

            /// Number with a fraction or an exponent.
            case otherNumber
            case string
            case array
            case object
        }

        let kind: Kind

        // With `Int32`, a node has half the size, so many replies need only one small allocation.
        private let lower: Int32
        private let upper: Int32
        private var last: Int32

        /// Range of the value in `text`; for a string, the decoded octets without quotes.
        var range: Range<Int> { Int(lower)..<Int(upper) }

        /// Index of the first node after the value, its elements and its members (keys and values).
        var end: Int {
            get { Int(last) }
            set { last = Int32(newValue) }
        }

        init(kind: Kind, range: Range<Int>, end: Int) {
            self.kind = kind
            // The text and its decoded strings have less than 2³¹ octets.
            lower = Int32(truncatingIfNeeded: range.lowerBound)
            upper = Int32(truncatingIfNeeded: range.upperBound)
            last = Int32(truncatingIfNeeded: end)
        }
    }

    /// JSON text, followed by the decoded strings that had escapes.
    fileprivate let text: [UInt8]
    fileprivate let nodes: [Node]

    init(_ text: [UInt8], _ nodes: [Node]) {
        self.text = text
        self.nodes = nodes
    }

    fileprivate func member(_ key: Span<UInt8>, of object: Int) -> Int? {
        Self.member(key, of: object, text, nodes)
    }

    private static func member(
        _ key: Span<UInt8>,
        of object: Int,
        _ text: [UInt8],
        _ nodes: [Node]
    ) -> Int? {
        let text = text.span
        let nodes = nodes.span
        let end = nodes[object].end
        var member = object + 1
        while member < end {
            if isEqual(text, nodes[member].range, key) { return member + 1 }
            member = nodes[member + 1].end
        }
        return nil
    }

    fileprivate func isName(_ name: Name, at node: Int) -> Bool {
        name.isWritten(in: text, at: nodes[node].range)
    }

    @inline(__always)
    private static func isEqual(
        _ text: Span<UInt8>,
        _ range: Range<Int>,
        _ key: Span<UInt8>
    ) -> Bool {
        guard range.count == key.count else { return false }
        for index in key.indices where text[range.lowerBound + index] != key[index] { return false }
        return true
    }
}

struct JSONValue: Sendable {
    private let document: JSONDocument

    private let index: Int

    init(_ document: JSONDocument) { self.init(document, at: 0) }

    private init(_ document: JSONDocument, at index: Int) {
        self.document = document
        self.index = index
    }

    private var node: JSONDocument.Node { document.nodes[index] }
}

// MARK: - Reading

extension JSONValue {
    static func read(_ text: [UInt8]) throws(VendorError) -> JSONValue {
        do throws(UnreadableReply) {
            return try JSONReader.read(text)
        } catch {
            throw .unreadable(error)
        }
    }

    subscript(key: String) -> JSONValue? {
        guard isObject, let member = document.member(key.utf8Span.span, of: index) else {
            return nil
        }
        let value = JSONValue(document, at: member)
        return value.isNull ? nil : value
    }

    var isObject: Bool { if case .object = node.kind { true } else { false } }

    var isText: Bool { if case .string = node.kind { true } else { false } }

    var isNull: Bool { if case .null = node.kind { true } else { false } }

    var isBool: Bool { if case .bool = node.kind { true } else { false } }

    var isTrue: Bool { if case .bool(true) = node.kind { true } else { false } }

    var text: String? {
        octets.map { String(decoding: $0, as: Unicode.UTF8.self) }
    }

    var name: Name? { octets.flatMap { try? Name(text: $0) } }

    /// Returns ``name``; if the text equals `known`, returns `known` without parsing the text.
    func name(or known: Name) -> Name? {
        guard isText else { return nil }
        return document.isName(known, at: index) ? known : name
    }

    func address(of family: Families) -> IPAddress? {
        octets.flatMap { AddressSet.address($0, of: family) }
    }

    private var octets: ArraySlice<UInt8>? { isText ? document.text[node.range] : nil }

    var number: Int64? {
        guard case .integer = node.kind else { return nil }
        return Self.integer(document.text, node.range)
    }

    private static func integer(_ text: [UInt8], _ range: Range<Int>) -> Int64? {
        let digits = text.span.extracting(range)
        let isNegative = digits[0] == UInt8(ascii: "-")
        var number: Int64 = 0
        for index in (isNegative ? 1 : 0)..<digits.count {
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let value = Int64(digits[index] - UInt8(ascii: "0"))
            let (sum, isLarger) =
                isNegative
                ? product.subtractingReportingOverflow(value)
                : product.addingReportingOverflow(value)
            guard !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        return number
    }

    var elements: [JSONValue]? { sequence.map(Array.init) }

    var sequence: Elements? {
        guard case .array = node.kind else { return nil }
        return Elements(document, index + 1, end: node.end)
    }

    /// Elements of an array, read from the document without a copy.
    struct Elements: Sequence, IteratorProtocol {
        private let document: JSONDocument
        private var index: Int
        private let end: Int

        fileprivate init(_ document: JSONDocument, _ index: Int, end: Int) {
            (self.document, self.index, self.end) = (document, index, end)
        }

        mutating func next() -> JSONValue? {
            guard index < end else { return nil }
            let value = JSONValue(document, at: index)
            index = document.nodes[index].end
            return value
        }
    }

    var members: [(key: String, value: JSONValue)]? {
        guard isObject else { return nil }
        var members: [(key: String, value: JSONValue)] = []
        var member = index + 1
        while member < node.end {
            let value = JSONValue(document, at: member + 1)
            members.append((JSONValue(document, at: member).text ?? "", value))
            member = value.node.end
        }
        return members
    }

    func requiredText(_ key: String) throws(VendorError) -> String {
        guard let text = self[key]?.text else { throw .unreadable(.member(key)) }
        return text
    }

    func optionalElements(_ key: String) throws(VendorError) -> [JSONValue] {
        guard let value = self[key] else { return [] }
        guard let elements = value.elements else { throw .unreadable(.member(key)) }
        return elements
    }
}
