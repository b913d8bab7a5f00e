// SPDX-License-Identifier: Apache-2.0

/// Position in a YAML text; line and column (in Unicode scalars) count from 1.
struct YAMLPlace: Sendable, Hashable, Comparable {
    var file = 0
    var line: Int
    var column: Int
    static let start = YAMLPlace(line: 1, column: 1)

    static func < (left: YAMLPlace, right: YAMLPlace) -> Bool {
        (left.file, left.line, left.column) < (right.file, right.line, right.column)
    }
}

/// Value of a YAML text, with its position.
///
/// Scalars stay text, because YAML would convert values such as `0660` or `off` to other types.
struct YAMLNode: Sendable {
    var content: Content
    var place = YAMLPlace.start

    enum Content: Sendable {
        case scalar(String, plain: Bool)
        case sequence([YAMLNode])
        case mapping([YAMLPair])

        /// Sequence whose items a ``YAMLReader/Taker`` has consumed.
        case taken

        case refused
    }
}

struct YAMLPair: Sendable {
    var key: String
    var keyPlace = YAMLPlace.start
    var value: YAMLNode
}

struct YAMLComplaint: Sendable, Hashable, Error {
    var place: YAMLPlace
    var message: String
    var hint: String?
}

// MARK: - Making

extension YAMLNode {
    /// Makes a scalar that is printed with quotes if necessary.
    static func text(_ text: String) -> YAMLNode { YAMLNode(content: .scalar(text, plain: false)) }

    /// Makes a scalar that is printed without quotes, such as a boolean.
    static func word(_ text: String) -> YAMLNode { YAMLNode(content: .scalar(text, plain: true)) }

    static func list(_ items: [YAMLNode]) -> YAMLNode { YAMLNode(content: .sequence(items)) }

    static func map(_ pairs: [(String, YAMLNode)]) -> YAMLNode {
        YAMLNode(content: .mapping(pairs.map { YAMLPair(key: $0.0, value: $0.1) }))
    }
}

// MARK: - Reading

extension YAMLNode {
    var scalar: String? { if case .scalar(let text, _) = content { text } else { nil } }

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
