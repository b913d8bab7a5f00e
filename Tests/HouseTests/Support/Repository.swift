// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

struct SourceFile: Sendable, CustomTestStringConvertible {
    let path: String

    let text: String

    var lines: [String] { text.components(separatedBy: "\n") }

    var room: String {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : ""
    }

    var suffix: String { (path as NSString).pathExtension }

    var testDescription: String { path }
}

enum Repository {
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static let ours = [
        "Sources", "Tests", "scripts", "systemd", "config", "man", ".ci",
        "Package.swift", "README.md", "CHANGELOG.md", ".swift-format",
    ]

    static let files: [SourceFile] = ours.flatMap { name -> [SourceFile] in
        let place = root.appending(path: name)
        let paths =
            FileManager.default.subpaths(atPath: place.path)?.map { "\(name)/\($0)" } ?? [name]
        return paths.sorted().filter { !$0.contains("__pycache__") }.compactMap { path in
            guard let text = try? String(contentsOf: root.appending(path: path), encoding: .utf8)
            else { return nil }
            return SourceFile(path: path, text: text)
        }
    }

    static let sources = files.filter { $0.path.hasPrefix("Sources/") && $0.suffix == "swift" }

    static let rooms = Set(files.filter { $0.path.hasPrefix("Sources/") }.map(\.room))

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}

extension String {
    func matches(of pattern: String) throws -> [[String]] {
        let expression = try NSRegularExpression(pattern: pattern, options: .anchorsMatchLines)
        let whole = NSRange(startIndex..., in: self)
        return expression.matches(in: self, range: whole).map { match in
            (0..<match.numberOfRanges).map { group in
                Range(match.range(at: group), in: self).map { String(self[$0]) } ?? ""
            }
        }
    }
}
