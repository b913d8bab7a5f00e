// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import httpdns_emulator

enum OpenSSL {
    static func md5(_ text: String) throws -> String { try digest(["dgst", "-md5", "-r"], text) }

    static func sha256(_ text: String) throws -> String {
        try digest(["dgst", "-sha256", "-r"], text)
    }

    static func hmac(_ text: String, key: String) throws -> String {
        try digest(["dgst", "-sha256", "-mac", "HMAC", "-macopt", "hexkey:" + key, "-r"], text)
    }

    static func openCBC(_ message: [UInt8], key: String) throws -> String {
        let file = try TemporaryFile("", suffix: ".bin")
        try Data(message.dropFirst(16)).write(to: URL(filePath: file.path))
        let options = ["enc", "-d", "-aes-128-cbc", "-K", key, "-iv"]
        let end = try run(options + [Hex.encode(Array(message.prefix(16))), "-in", file.path])
        return end
    }

    private static func digest(_ options: [String], _ text: String) throws -> String {
        let file = try TemporaryFile(text, suffix: ".txt")
        let output = try run(options + [file.path])
        return String(output.prefix { $0 != " " })
    }

    private static func run(_ arguments: [String]) throws -> String {
        let end = try Child(URL(filePath: "/usr/bin/env"), ["openssl"] + arguments).finish()
        try #require(end.code == 0, "\(end.errors)")
        return String(decoding: end.output, as: UTF8.self)
    }
}

extension RunningEmulator {
    convenience init(at seconds: Int, _ options: String...) throws {
        let offset = seconds - Int(Date().timeIntervalSince1970)
        try self.init(options: ["--clock-offset", String(offset)] + options)
    }
}
