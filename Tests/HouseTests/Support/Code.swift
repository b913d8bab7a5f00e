// SPDX-License-Identifier: Apache-2.0
import Foundation

struct Code {
    /// Source without comments and strings; line numbers are unchanged.
    let text: String

    let lines: [String]

    let commented: [String]

    init(_ source: String) {
        commented = source.components(separatedBy: "\n")
        var isInText = false
        lines = commented.map { line in
            let quotes = line.components(separatedBy: "\"\"\"").count - 1
            defer { if !quotes.isMultiple(of: 2) { isInText.toggle() } }
            if isInText || quotes > 0 { return "" }
            return Self.bare(line)
        }
        text = lines.joined(separator: "\n")
    }

    private static func bare(_ line: String) -> String {
        var result = ""
        var isInString = false
        var previous: Character = " "
        for character in line {
            if character == "\"" && previous != "\\" {
                isInString.toggle()
                result.append(character)
            } else if !isInString {
                if character == "/" && previous == "/" {
                    result.removeLast()
                    break
                }
                result.append(character)
            }
            previous = character == "\\" && previous == "\\" ? " " : character
        }
        return result
    }

    func indentation(_ index: Int) -> Int? {
        let line = commented[index]
        guard let first = line.firstIndex(where: { $0 != " " }) else { return nil }
        return line.distance(from: line.startIndex, to: first)
    }

    func declaration(around index: Int) -> ClosedRange<Int> {
        let head = head(of: index)
        var first = head
        while first > 0, isAbove(first - 1, at: indentation(head)) { first -= 1 }
        return first...last(of: head)
    }

    func commentsOfTypes(around index: Int) -> [String] {
        var found: [String] = []
        var least = indentation(index) ?? 0
        for line in stride(from: index, through: 0, by: -1) where isType(line) {
            guard let indentation = indentation(line), indentation < least || line == index
            else { continue }
            least = indentation
            var above = line - 1
            while above >= 0, isAbove(above, at: indentation) {
                found.append(commented[above])
                above -= 1
            }
        }
        return found
    }

    private func head(of index: Int) -> Int {
        if isBody(index) { return index }
        var head = index
        var least = indentation(index) ?? 0
        var line = index
        while line > 0 {
            line -= 1
            guard let indentation = indentation(line), !lines[line].isEmpty else { continue }
            // The line that opens the scope is less indented. Exception: if a signature has several
            // lines, its first line has the same indentation as its last line.
            guard indentation < least || (indentation == least && closes(head)) else { continue }
            if isType(line) { return head }
            head = line
            least = indentation
            if isBody(line) { return line }
        }
        return head
    }

    private func last(of head: Int) -> Int {
        let wanted = indentation(head)
        guard lines[head].hasSuffix("{") || lines[head].hasSuffix("(") else { return head }
        for line in head + 1..<max(head + 1, lines.count) where indentation(line) == wanted {
            let text = lines[line].trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("}") || (text.hasPrefix(")") && !text.hasSuffix("{")) { return line }
        }
        return lines.count - 1
    }

    private func closes(_ index: Int) -> Bool {
        lines[index].trimmingCharacters(in: .whitespaces).hasPrefix(")")
    }

    private func isAbove(_ index: Int, at wanted: Int?) -> Bool {
        guard indentation(index) == wanted else { return false }
        let line = commented[index].trimmingCharacters(in: .whitespaces)
        return line.hasPrefix("//") || (line.hasPrefix("@") && !line.contains("{"))
    }

    private func isBody(_ index: Int) -> Bool {
        matches(
            index,
            #"^\s*(?:[@\w().]+ +)*(?:func |init[(?<]|deinit\b|subscript\b|(?:static|class) func )"#
        )
            || matches(index, #"^ {0,8}(?:[@\w().]+ +)*var .*\{$"#)
    }

    private func isType(_ index: Int) -> Bool {
        matches(index, #"^\s*(?:[@\w()]+ +)*(?:class|struct|enum|actor|extension|protocol) "#)
    }

    private func matches(_ index: Int, _ pattern: String) -> Bool {
        lines[index].range(of: pattern, options: .regularExpression) != nil
    }
}
