// SPDX-License-Identifier: Apache-2.0

/// Wraps a line at word boundaries.
///
/// - Parameters:
///   - width: width in characters; nil for no limit.
///   - indent: number of spaces before each further line.
/// - Returns: the lines without a final line feed; a word longer than a line is not broken.
func wrapped(_ text: String, to width: Int?, indent: Int) -> String {
    guard let width, text.count > width else { return text }
    let margin = text.prefix { $0 == " " }
    var lines: [String] = []
    var line = String(margin)
    var isEmpty = true
    for word in text.dropFirst(margin.count).split(separator: " ") {
        if isEmpty {
            line += word
        } else if line.count + 1 + word.count <= width {
            line += " " + word
        } else {
            lines.append(line)
            line = String(repeating: " ", count: indent) + word
        }
        isEmpty = false
    }
    return (lines + [line]).joined(separator: "\n")
}
