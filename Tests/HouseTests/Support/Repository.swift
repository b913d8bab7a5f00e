// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

/// A text file of the repository.
struct SourceFile: Sendable, CustomTestStringConvertible {
    /// Its path from the root, such as `Sources/Net/Endpoint.swift`.
    let path: String

    /// What is in it.
    let text: String

    /// Its lines, without their ends.
    var lines: [String] { text.components(separatedBy: "\n") }

    /// The folder below `Sources` or `Tests` that it is in.
    var room: String {
        let parts = path.split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : ""
    }

    /// The end of its name, without the dot; empty if there is none.
    var suffix: String { (path as NSString).pathExtension }

    var testDescription: String { path }
}

/// The repository these tests are part of, as it lies on the disk.
enum Repository {
    /// Its root.
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// What is ours; build products and the version control's own are not.
    private static let ours = [
        "Sources", "Tests", "scripts", "systemd", "config", "man", ".ci",
        "Package.swift", "README.md", "CHANGELOG.md", ".swift-format",
    ]

    /// All text files that are ours.
    static let files: [SourceFile] = ours.flatMap { name -> [SourceFile] in
        let place = root.appending(path: name)
        let paths =
            FileManager.default.subpaths(atPath: place.path)?.map { "\(name)/\($0)" } ?? [name]
        return paths.sorted().filter { !$0.contains("__pycache__") }.compactMap { path in
            // Folders cannot be read, and what is not UTF-8 is no text.
            guard let text = try? String(contentsOf: root.appending(path: path), encoding: .utf8)
            else { return nil }
            return SourceFile(path: path, text: text)
        }
    }

    /// The Swift files of the products.
    static let sources = files.filter { $0.path.hasPrefix("Sources/") && $0.suffix == "swift" }

    /// The folders below `Sources`.
    static let rooms = Set(files.filter { $0.path.hasPrefix("Sources/") }.map(\.room))

    /// Reads one file.
    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}

extension String {
    /// Every match of a regular expression, each with its groups.
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
