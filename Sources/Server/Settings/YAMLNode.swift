// SPDX-License-Identifier: Apache-2.0

/// A place in a YAML text; line and column count from 1, columns in Unicode scalars.
struct YAMLPlace: Sendable, Hashable, Comparable {
    /// Which of the texts that are read together, from 0.
    var file = 0

    var line: Int
    var column: Int

    /// The first character of the text.
    static let start = YAMLPlace(line: 1, column: 1)

    static func < (left: YAMLPlace, right: YAMLPlace) -> Bool {
        (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
}

/// A value of a YAML text, with its place.
///
/// Scalars stay text: what `0660` or `off` means is the business of the option that takes it, not
/// of YAML's guesses.
struct YAMLNode: Sendable {
    var content: Content
    var place = YAMLPlace.start

    enum Content: Sendable {
        /// Text; `plain` if it was, or is to be, written without quotes.
        case scalar(String, plain: Bool)
        case sequence([YAMLNode])
        case mapping([YAMLPair])

        /// Something refused (an alias, say), about which a complaint was already made.
        case refused
    }
}

/// A key of a mapping and its value.
struct YAMLPair: Sendable {
    var key: String
    var keyPlace = YAMLPlace.start
    var value: YAMLNode
}

/// Something wrong in a text, whatever the text is for.
struct YAMLComplaint: Sendable, Hashable, Error {
    var place: YAMLPlace
    var message: String
    var hint: String?
}

// MARK: - Making what is printed

extension YAMLNode {
    /// A scalar that is quoted when printed, if it needs to be.
    static func text(_ text: String) -> YAMLNode {
        YAMLNode(content: .scalar(text, plain: false))
    }

    /// A scalar that is printed as it is: a boolean.
    static func word(_ text: String) -> YAMLNode {
        YAMLNode(content: .scalar(text, plain: true))
    }

    static func list(_ items: [YAMLNode]) -> YAMLNode {
        YAMLNode(content: .sequence(items))
    }

    static func map(_ pairs: [(String, YAMLNode)]) -> YAMLNode {
        YAMLNode(content: .mapping(pairs.map { YAMLPair(key: $0.0, value: $0.1) }))
    }
}

// MARK: - Reading

extension YAMLNode {
    /// The text of a scalar.
    var scalar: String? {
        if case .scalar(let text, _) = content { text } else { nil }
    }

    /// Whether a key has nothing behind it: `key:`, `key: ~` or `key: null`.
    var isNull: Bool {
        if case .scalar(let text, plain: true) = content {
            ["", "~", "null"].contains(text)
        } else {
            false
        }
    }

    /// The value of `key` in a mapping.
    subscript(key: String) -> YAMLNode? {
        guard case .mapping(let pairs) = content else { return nil }
        return pairs.first { $0.key == key }?.value
    }
}
