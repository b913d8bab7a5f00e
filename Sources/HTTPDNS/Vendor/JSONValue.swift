// SPDX-License-Identifier: Apache-2.0
import DNSWire

/// A text of JSON (RFC 8259) that was read: its octets, and where its values are in them.
///
/// Strings and numbers are made when somebody asks for them, as most of a reply is never asked for.
final class JSONDocument: Sendable {
    /// Where a value is.
    struct Node: Sendable {
        /// What a value is.
        enum Kind: Sendable {
            case null
            case bool(Bool)

            /// A number without fraction and exponent.
            case integer

            /// Any other number: no field of a reply may have one.
            case otherNumber
            case string(hasEscapes: Bool)
            case array
            case object
        }

        var kind: Kind

        /// Its octets in the text; of a string those between the quotation marks.
        var range: Range<Int>

        /// The number of the node behind it and all that is in it.
        ///
        /// An array's elements follow it, and so do an object's members: a key, which is a string,
        /// and its value, each.
        var end: Int
    }

    fileprivate let text: [UInt8]
    fileprivate let nodes: [Node]

    init(_ text: [UInt8], _ nodes: [Node]) {
        self.text = text
        self.nodes = nodes
    }
}

/// A value of JSON (RFC 8259), as far as vendors' replies need it.
struct JSONValue: Sendable {
    private let document: JSONDocument

    /// Its number among the nodes.
    private let index: Int

    /// The whole of a text.
    init(_ document: JSONDocument) { self.init(document, at: 0) }

    private init(_ document: JSONDocument, at index: Int) {
        self.document = document
        self.index = index
    }

    private var node: JSONDocument.Node { document.nodes[index] }
}

// MARK: - Reading

extension JSONValue {
    /// Reads a whole text.
    ///
    /// - Throws: `VendorError.unreadable`.
    static func read(_ text: [UInt8]) throws(VendorError) -> JSONValue {
        do throws(UnreadableReply) {
            return try JSONReader.read(text)
        } catch {
            throw .unreadable(error)
        }
    }

    /// The member `key` of an object; nil if this is none, lacks it, or has null there.
    subscript(key: String) -> JSONValue? {
        guard isObject else { return nil }
        var member = index + 1
        while member < node.end {
            let value = JSONValue(document, at: member + 1)
            if JSONValue(document, at: member).isText(key) { return value.isNull ? nil : value }
            member = value.node.end
        }
        return nil
    }

    /// Whether it is an object.
    var isObject: Bool { if case .object = node.kind { true } else { false } }

    /// Whether it is a string.
    var isText: Bool { if case .string = node.kind { true } else { false } }

    /// Whether it is null.
    var isNull: Bool { if case .null = node.kind { true } else { false } }

    /// Whether it is true or false.
    var isBool: Bool { if case .bool = node.kind { true } else { false } }

    /// Whether it is true, rather than false or no such thing.
    var isTrue: Bool { if case .bool(true) = node.kind { true } else { false } }

    /// The text of a string.
    var text: String? {
        octets.map { String(decoding: $0, as: Unicode.UTF8.self) }
    }

    /// The name that a string is the text of.
    var name: Name? { octets.flatMap { try? Name(text: $0) } }

    /// The octets of a string's text.
    private var octets: ArraySlice<UInt8>? {
        guard case .string(let hasEscapes) = node.kind else { return nil }
        let octets = document.text[node.range]
        return hasEscapes ? JSONReader.unescape(octets)[...] : octets
    }

    /// Whether it is a string with that text.
    private func isText(_ text: String) -> Bool {
        guard case .string(false) = node.kind else {
            return octets?.elementsEqual(text.utf8) ?? false
        }
        let range = node.range
        guard range.count == text.utf8.count else { return false }
        var position = range.lowerBound
        for octet in text.utf8 {
            guard document.text[position] == octet else { return false }
            position += 1
        }
        return true
    }

    /// The number of an integer that fits 64 bits.
    var number: Int64? {
        guard case .integer = node.kind else { return nil }
        let digits = document.text[node.range]
        let isNegative = digits.first == UInt8(ascii: "-")
        var number: Int64 = 0
        for digit in digits.dropFirst(isNegative ? 1 : 0) {
            let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let value = Int64(digit - UInt8(ascii: "0"))
            let (sum, isLarger) =
                isNegative
                ? product.subtractingReportingOverflow(value)
                : product.addingReportingOverflow(value)
            guard !isTooLarge, !isLarger else { return nil }
            number = sum
        }
        return number
    }

    /// The elements of an array.
    var elements: [JSONValue]? {
        guard case .array = node.kind else { return nil }
        var elements: [JSONValue] = []
        var element = index + 1
        while element < node.end {
            let value = JSONValue(document, at: element)
            elements.append(value)
            element = value.node.end
        }
        return elements
    }

    /// The members of an object, in the order of the text; no key comes twice.
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

    /// The text of the member `key`.
    ///
    /// - Throws: `VendorError.unreadable(.member)` if it is missing or no string.
    func requiredText(_ key: String) throws(VendorError) -> String {
        guard let text = self[key]?.text else { throw .unreadable(.member(key)) }
        return text
    }

    /// The elements of the member `key`; none if it is missing.
    ///
    /// - Throws: `VendorError.unreadable(.member)` if it is no array.
    func optionalElements(_ key: String) throws(VendorError) -> [JSONValue] {
        guard let value = self[key] else { return [] }
        guard let elements = value.elements else { throw .unreadable(.member(key)) }
        return elements
    }
}
