// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Configuration

/// Process that validates texts against `config/httpdnsd.schema.json`.
final class SchemaJudge: @unchecked Sendable {
    static let shared: SchemaJudge? = try? SchemaJudge()

    // SAFETY: used only with `lock` held.
    private let lock = NSLock()
    private let process = Process()
    private let questions = Pipe()
    private let answers = Pipe()

    private static let program = """
        import json, sys
        from jsonschema import Draft7Validator as Validator
        schema = json.load(open(sys.argv[1]))
        Validator.check_schema(schema)
        print(json.dumps("ready"), flush=True)
        for line in sys.stdin:
            errors = [error.message for error in Validator(schema).iter_errors(json.loads(line))]
            print(json.dumps(" | ".join(errors)), flush=True)
        """

    private struct Silent: Error {}

    private init() throws {
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", Self.program, Self.file]
        process.standardInput = questions
        process.standardOutput = answers
        process.standardError = FileHandle.nullDevice
        try process.run()
        guard answer() == "ready" else { throw Silent() }
    }

    static var file: String {
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
            + "/config/httpdnsd.schema.json"
    }

    func complaint(about root: YAMLNode) -> String {
        lock.withLock {
            questions.fileHandleForWriting.write(Data((JSONText.inline(root) + "\n").utf8))
            return answer() ?? "the validator does not answer"
        }
    }

    private func answer() -> String? {
        var line = Data()
        while let octet = try? answers.fileHandleForReading.read(upToCount: 1), !octet.isEmpty {
            if octet[0] == 0x0A { break }
            line += octet
        }
        return try? JSONDecoder().decode(String.self, from: line)
    }

    static func compare(_ octets: [UInt8], with problems: [String]) {
        let text = YAMLReader(octets)
        guard text.complaints.isEmpty, let root = text.root, let shared else { return }
        let complaint = shared.complaint(about: root)
        if problems.isEmpty {
            #expect(
                complaint == "",
                "the reader accepts \(String(decoding: octets, as: UTF8.self))"
            )
        } else if problems.contains(where: isPlain) {
            #expect(complaint != "", "the schema accepts, and the reader says: \(problems)")
        }
    }

    private static func isPlain(_ problem: String) -> Bool {
        [
            "unknown key", "` is missing", "must be one of", "must be a list", "must be a mapping",
            "is an option of vendor kind", " takes 1 to ", "must be {", "must be an absolute path",
            "must be an IP address", "must be `true`", "must not be in the settings",
        ].contains { problem.contains($0) }
    }
}
