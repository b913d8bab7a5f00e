// SPDX-License-Identifier: Apache-2.0
import Foundation

/// A directory that is removed with this object.
final class Scratch: Sendable {
    /// Short, as a Unix socket's path has 107 octets at most.
    let path: String

    init() throws {
        path = "/tmp/hi-\(UUID().uuidString.prefix(13))"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file in it.
    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file in it and returns its path.
    @discardableResult
    func write(_ text: String, to name: String, mode: Int = 0o644) throws -> String {
        let file = file(name)
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    /// The text of a file in it.
    func read(_ name: String) throws -> String {
        try String(contentsOfFile: file(name), encoding: .utf8)
    }
}

/// The programs of this package, beside the tests in the build's products.
enum Product {
    static let daemon = path("httpdnsd")
    static let control = path("httpdnsctl")
    static let emulator = path("httpdns-emulator")

    private static func path(_ name: String) -> String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: name).path
    }
}

/// A JSON text, read as a script reads it: by keys.
struct JSON: @unchecked Sendable {
    // SAFETY: what JSONSerialization makes is never changed.
    let value: Any?

    /// Reads a text.
    init(_ text: String) throws {
        value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    private init(value: Any?) { self.value = value }

    /// The value at a path of keys, empty if there is none.
    subscript(_ keys: String...) -> JSON {
        JSON(value: keys.reduce(value) { ($0 as? [String: Any])?[$1] })
    }

    var string: String? { value as? String }
    var int: Int? { (value as? NSNumber)?.intValue }
    var bool: Bool? { (value as? NSNumber)?.boolValue }
    var array: [JSON] { (value as? [Any] ?? []).map { JSON(value: $0) } }
    var keys: [String] { (value as? [String: Any] ?? [:]).keys.sorted() }

    /// The sum of a table of numbers.
    var sum: Int { (value as? [String: NSNumber] ?? [:]).values.reduce(0) { $0 + $1.intValue } }
}
