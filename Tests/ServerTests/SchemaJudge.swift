// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Server

/// Python's JSON Schema validator with `config/httpdnsd.schema.json`, in a process of its own.
///
/// Every text that the reader's tests read is shown to it, so both are held to the same cases.
final class SchemaJudge: @unchecked Sendable {
    /// The judge of this process; nil where Python or its `jsonschema` is missing.
    static let shared: SchemaJudge? = try? SchemaJudge()

    // SAFETY: used with `lock` held only, since one answer follows one question.
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

    /// The path of the schema.
    static var file: String {
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
            + "/config/httpdnsd.schema.json"
    }

    /// What the schema has against a tree; empty if it accepts it.
    func complaint(about root: YAMLNode) -> String {
        lock.withLock {
            questions.fileHandleForWriting.write(Data((JSONText.inline(root) + "\n").utf8))
            return answer() ?? "the judge is silent"
        }
    }

    /// The next line, which is a text in JSON; nil at the end.
    private func answer() -> String? {
        var line = Data()
        while let octet = try? answers.fileHandleForReading.read(upToCount: 1), !octet.isEmpty {
            if octet[0] == 0x0A { break }
            line += octet
        }
        return try? JSONDecoder().decode(String.self, from: line)
    }

    /// Expects of the schema what the reader has found in a text: what it accepts the schema does,
    /// and what is wrong in its shape, words or keys the schema refuses.
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

    /// Whether a problem is one that a schema can see.
    private static func isPlain(_ problem: String) -> Bool {
        [
            "unknown key", "` is missing", "must be one of", "must be a list", "must be a mapping",
            "is for vendors of the kind", " takes 1 to ", "must be {", "must be an absolute path",
            "must be an IP address", "must be `true`", "must not stand in the settings",
        ].contains { problem.contains($0) }
    }
}
