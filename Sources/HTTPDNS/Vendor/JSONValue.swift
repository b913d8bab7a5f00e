// SPDX-License-Identifier: Apache-2.0

/// A value of JSON (RFC 8259), as far as vendors' replies need it.
enum JSONValue: Sendable, Hashable {
    case null
    case bool(Bool)

    /// A number without fraction and exponent that fits 64 bits.
    case integer(Int64)

    /// Any other number: no field of a reply may have one, so its value is not kept.
    case otherNumber
    case string(String)
    case array([JSONValue])
    case object(Members)

    /// The members of an object, in the order of the text; no key comes twice.
    ///
    /// An array, as vendors' objects are small, and most members are never looked at.
    struct Members: Sendable, Hashable {
        fileprivate var all: [Member] = []
    }

    /// One member of an object.
    struct Member: Sendable, Hashable {
        let key: String
        let value: JSONValue
    }
}

extension JSONValue.Members: Sequence {
    func makeIterator() -> some IteratorProtocol<JSONValue.Member> { all.makeIterator() }

    /// The value of `key`.
    subscript(key: String) -> JSONValue? { all.first { $0.key == key }?.value }

    /// Adds a member.
    ///
    /// - Returns: false if there is one with that key, or there are too many.
    mutating func add(_ key: String, _ value: JSONValue) -> Bool {
        guard all.count < VendorLimits.maximumJSONMembers, self[key] == nil else { return false }
        if all.isEmpty { all.reserveCapacity(8) }
        all.append(JSONValue.Member(key: key, value: value))
        return true
    }
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
        guard case .object(let members) = self, let value = members[key], value != .null else {
            return nil
        }
        return value
    }

    /// The text of a string.
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number of an integer.
    var number: Int64? {
        if case .integer(let number) = self { number } else { nil }
    }

    /// The elements of an array.
    var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
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
