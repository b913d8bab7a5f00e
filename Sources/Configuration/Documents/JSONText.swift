// SPDX-License-Identifier: Apache-2.0

/// Printer of YAML trees as JSON.
enum JSONText {
    static let width = 100

    static func lines(_ node: YAMLNode, indent: Int = 0, key: String? = nil) -> [String] {
        let start = String(repeating: " ", count: indent) + (key.map { quoted($0) + ": " } ?? "")
        let flat = start + inline(node)
        if flat.count <= width { return [flat] }
        switch node.content {
        case .mapping(let pairs):
            let parts = pairs.map { lines($0.value, indent: indent + 2, key: $0.key) }
            return [start + "{"] + separated(parts) + [String(repeating: " ", count: indent) + "}"]
        case .sequence(let items):
            let parts = items.map { lines($0, indent: indent + 2) }
            return [start + "["] + separated(parts) + [String(repeating: " ", count: indent) + "]"]
        case .scalar, .taken, .refused: return [flat]
        }
    }

    static func inline(_ node: YAMLNode) -> String {
        switch node.content {
        case .mapping(let pairs):
            "{" + pairs.map { "\(quoted($0.key)): \(inline($0.value))" }.joined(separator: ", ")
                + "}"
        case .sequence(let items): "[" + items.map(inline).joined(separator: ", ") + "]"
        case .scalar(let text, _): node.literal ?? quoted(text)
        case .taken, .refused: "null"
        }
    }

    private static func separated(_ parts: [[String]]) -> [String] {
        parts.enumerated().flatMap { index, lines in
            guard index < parts.count - 1, let last = lines.last else { return lines }
            return lines.dropLast() + [last + ","]
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}

extension YAMLNode {
    var isTyped: Bool { literal != nil }

    /// Copy in which each scalar that needs no quotes is plain.
    ///
    /// So `5` and `true` become a JSON number and a Boolean.
    var typed: YAMLNode {
        var copy = self
        switch content {
        case .scalar(let text, _):
            copy.content = .scalar(
                text,
                plain: Self.isPlain(text) || ["true", "false"].contains(text)
            )
        case .sequence(let items): copy.content = .sequence(items.map(\.typed))
        case .mapping(let pairs):
            copy.content = .mapping(pairs.map { YAMLPair(key: $0.key, value: $0.value.typed) })
        case .taken, .refused: break
        }
        return copy
    }

    /// JSON literal of a plain scalar (core schema of YAML 1.2); nil if the scalar is a string.
    fileprivate var literal: String? {
        guard case .scalar(let text, plain: true) = content else { return nil }
        switch text {
        case "", "~", "null", "Null", "NULL": return "null"
        case "true", "True", "TRUE": return "true"
        case "false", "False", "FALSE": return "false"
        default: break
        }
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
        guard text.utf8.count - digits.count <= 1, digits.first?.isDigit == true,
            digits.last?.isDigit == true,
            digits.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") })
        else { return nil }
        let parts = digits.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count <= 2 else { return nil }
        // Removes leading zeros and a plus sign, which JSON does not allow.
        let whole = String(decoding: parts[0].drop { $0 == UInt8(ascii: "0") }, as: UTF8.self)
        let fraction = parts.count == 2 ? "." + String(decoding: parts[1], as: UTF8.self) : ""
        return (text.hasPrefix("-") ? "-" : "") + (whole.isEmpty ? "0" : whole) + fraction
    }
}
