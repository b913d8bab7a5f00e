// SPDX-License-Identifier: Apache-2.0
import Net

/// Printer of trees as YAML text that `YAMLReader` accepts.
enum YAMLPrinter {
    static let width = 100

    static func lines(_ key: String, _ value: YAMLNode, indent: Int = 0) -> [String] {
        let margin = String(repeating: " ", count: indent)
        let name = YAMLNode.text(key).inline
        if value.isFlat(room: width - indent - name.count - 2) {
            return ["\(margin)\(name): \(value.inline)"]
        }
        return ["\(margin)\(name):"] + block(value, indent: indent + 2)
    }

    static func block(_ node: YAMLNode, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        switch node.content {
        case .mapping(let pairs): return pairs.flatMap { lines($0.key, $0.value, indent: indent) }
        case .sequence(let items):
            return items.flatMap { item in
                if item.isFlat(room: width - indent - 2) { return ["\(margin)- \(item.inline)"] }
                return dashed(block(item, indent: indent + 2), indent: indent)
            }
        case .scalar, .taken, .refused: return ["\(margin)\(node.inline)"]
        }
    }

    /// Puts the dash of a list item on the first line that is not a comment.
    static func dashed(_ lines: [String], indent: Int) -> [String] {
        var lines = lines
        let margin = String(repeating: " ", count: indent)
        let first = lines.firstIndex { !$0.dropFirst(indent + 2).hasPrefix("#") }
        if let first { lines[first] = "\(margin)- " + lines[first].dropFirst(indent + 2) }
        return lines
    }
}

// MARK: - On one line

extension YAMLNode {
    /// Copy without the parameter values of URLs, which may be secret.
    var redacted: YAMLNode {
        var node = self
        switch content {
        case .scalar(let text, let plain) where text.contains("://"):
            node.content = .scalar(text.withoutParameterValues, plain: plain)
        case .sequence(let items): node.content = .sequence(items.map(\.redacted))
        case .mapping(let pairs):
            node.content = .mapping(
                pairs.map { pair in
                    var pair = pair
                    pair.value = pair.value.redacted
                    return pair
                }
            )
        case .scalar, .taken, .refused: break
        }
        return node
    }

    var inline: String {
        switch content {
        case .scalar(let text, let plain): plain || Self.isPlain(text) ? text : Self.quoted(text)
        case .sequence(let items): "[" + items.map(\.inline).joined(separator: ", ") + "]"
        case .mapping(let pairs):
            "{"
                + pairs.map { "\(YAMLNode.text($0.key).inline): \($0.value.inline)" }
                .joined(separator: ", ") + "}"
        case .taken, .refused: "~"
        }
    }

    func isFlat(room: Int) -> Bool {
        switch content {
        case .scalar, .taken, .refused: true
        case .sequence(let items):
            items.isEmpty || items.allSatisfy { $0.scalar != nil } && inline.count <= room
        case .mapping(let pairs):
            pairs.isEmpty || pairs.allSatisfy { $0.value.scalar != nil } && inline.count <= room
        }
    }

    /// Returns true if `text` needs no quotes, even for YAML 1.1 readers.
    static func isPlain(_ text: String) -> Bool {
        let words = ["true", "false", "yes", "no", "on", "off", "y", "n", "null"]
        guard !text.isEmpty, !words.contains(text.lowercased()) else { return false }
        if text.hasPrefix("0"), text.count > 1, text.allSatisfy(\.isNumber) { return false }
        return text.utf8.enumerated().allSatisfy { index, octet in
            octet.isLetterOrDigit || "/.".utf8.contains(octet)
                || index > 0 && "-_".utf8.contains(octet)
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text.unicodeScalars {
            if character == "\"" || character == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(character)
        }
        return quoted + "\""
    }
}
