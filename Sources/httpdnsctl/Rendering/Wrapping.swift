// SPDX-License-Identifier: Apache-2.0

/// Wraps text at spaces; does not break words.
///
/// - Parameter width: width in characters; nil for no limit.
func wrapped(_ text: String, to width: Int?, indent: Int) -> String {
    guard let width, text.count > width else { return text }
    var lines: [String] = []
    var rest = Array(text)
    while rest.count > width {
        let margin = rest.prefix { $0 == " " }.count
        let words = rest.indices.dropFirst(margin)
        let fits = words.last { $0 <= width && rest[$0] == " " }
        guard let end = fits ?? words.first(where: { rest[$0] == " " }) else { break }
        lines.append(String(rest[..<end]).trimmingSpaces)
        rest = Array(repeating: " ", count: indent) + rest[end...].drop { $0 == " " }
    }
    return (lines + [String(rest)]).joined(separator: "\n")
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
