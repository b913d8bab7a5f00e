// SPDX-License-Identifier: Apache-2.0
import Foundation

final class Scratch: Sendable {
    /// Path of the directory; it is short, because a Unix socket's path has at most 107 octets.
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

    func file(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    func write(_ text: String, to name: String, mode: Int = 0o644) throws -> String {
        let file = file(name)
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        return file
    }

    func read(_ name: String) throws -> String {
        try String(contentsOfFile: file(name), encoding: .utf8)
    }
}

enum Product {
    static let daemon = path("httpdnsd")
    static let control = path("httpdnsctl")
    static let emulator = path("httpdns-emulator")

    private static func path(_ name: String) -> String {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: name).path
    }
}

struct JSON: @unchecked Sendable {
    // SAFETY: the objects of JSONSerialization are never changed.
    let value: Any?

    init(_ text: String) throws {
        value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    private init(value: Any?) { self.value = value }

    subscript(_ keys: String...) -> JSON {
        JSON(value: keys.reduce(value) { ($0 as? [String: Any])?[$1] })
    }

    var string: String? { value as? String }
    var int: Int? { (value as? NSNumber)?.intValue }
    var bool: Bool? { (value as? NSNumber)?.boolValue }
    var array: [JSON] { (value as? [Any] ?? []).map { JSON(value: $0) } }
    var keys: [String] { (value as? [String: Any] ?? [:]).keys.sorted() }

    var sum: Int { (value as? [String: NSNumber] ?? [:]).values.reduce(0) { $0 + $1.intValue } }
}
