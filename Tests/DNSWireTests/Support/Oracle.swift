// SPDX-License-Identifier: Apache-2.0
import Foundation

enum Oracle {
    static let python =
        ProcessInfo.processInfo.environment["HTTPDNSD_TEST_PYTHON"] ?? "/usr/bin/python3"

    static let isInstalled = (try? run("-c", "import dns.message")) != nil

    static let isRequired = ProcessInfo.processInfo.environment["CI"] == "true"

    private static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Differential/oracle.py").path

    struct Failure: Error {
        let message: String
    }

    static func generate(seed: Int, count: Int) throws -> [[UInt8]] {
        split(try run(script, "generate", String(seed), String(count)))
    }

    static func read(_ packets: [[UInt8]]) throws -> [String] {
        let stream = packets.flatMap { two($0.count) + $0 }
        return lines(try run(script, "read", input: Data(stream)))
    }

    static func readText(_ records: [String]) throws -> [String] {
        lines(try run(script, "text", input: Data(records.joined(separator: "\n").utf8)))
    }

    static func split(_ stream: Data) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        var rest = stream[...]
        while rest.count >= 2 {
            let count = Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
            packets.append(Array(rest.dropFirst(2).prefix(count)))
            rest = rest.dropFirst(2 + count)
        }
        return packets
    }

    private static func lines(_ output: Data) -> [String] {
        String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Uses files for input and output, because a full pipe would block both programs.
    private static func run(_ arguments: String..., input: Data = Data()) throws -> Data {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("oracle-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["in", "out", "error"].map(folder.appendingPathComponent)
        try input.write(to: files[0])
        try Data().write(to: files[1])
        try Data().write(to: files[2])

        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(message: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
        }
        return try Data(contentsOf: files[1])
    }
}
