// SPDX-License-Identifier: Apache-2.0

/// Place in a YAML text; line and column count from 1, columns in Unicode scalars.
struct YAMLPlace: Sendable, Hashable, Comparable {
    /// Index of the file, from 0.
    var file = 0

    var line: Int
    var column: Int

    static let start = YAMLPlace(line: 1, column: 1)

    static func < (left: YAMLPlace, right: YAMLPlace) -> Bool {
        (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
}

/// Value of a YAML text, with its place.
///
/// Scalars stay text: each option interprets values such as `0660` or `off` itself, without the
/// implicit types of YAML.
struct YAMLNode: Sendable {
    var content: Content
    var place = YAMLPlace.start

    enum Content: Sendable {
        /// Text; `plain` if it is written without quotes.
        case scalar(String, plain: Bool)
        case sequence([YAMLNode])
        case mapping([YAMLPair])

        /// Refused value, such as an alias; its error was already reported.
        case refused
    }
}

/// Key of a mapping and its value.
struct YAMLPair: Sendable {
    var key: String
    var keyPlace = YAMLPlace.start
    var value: YAMLNode
}

/// Error in a YAML text.
struct YAMLComplaint: Sendable, Hashable, Error {
    var place: YAMLPlace
    var message: String
    var hint: String?
}

// MARK: - Making what is printed

extension YAMLNode {
    /// Makes a scalar that is quoted if necessary.
    static func text(_ text: String) -> YAMLNode {
        YAMLNode(content: .scalar(text, plain: false))
    }

    /// Makes a scalar that is printed without quotes, such as a boolean.
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
    /// Text of a scalar; nil for other values.
    var scalar: String? {
        if case .scalar(let text, _) = content { text } else { nil }
    }

    /// True if the value is missing or null: `key:`, `key: ~` or `key: null`.
    var isNull: Bool {
        if case .scalar(let text, plain: true) = content {
            ["", "~", "null"].contains(text)
        } else {
            false
        }
    }

    subscript(key: String) -> YAMLNode? {
        guard case .mapping(let pairs) = content else { return nil }
        return pairs.first { $0.key == key }?.value
    }
}
