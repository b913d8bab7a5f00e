// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@testable import Configuration

@Suite("The schema agrees with the reader")
struct SettingsSchemaTests {
    @Test("config/httpdnsd.schema.json is the output of `httpdnsd --print-schema`")
    func file() throws {
        #expect(
            try String(contentsOfFile: SchemaJudge.file, encoding: .utf8) == SettingsSchema.text,
            "run `httpdnsd --print-schema > config/httpdnsd.schema.json`"
        )
    }

    @Test(
        "Python's validator accepts the schema",
        .enabled(
            if: SchemaJudge.shared != nil || ProcessInfo.processInfo.environment["CI"] == "true",
            "apt-get install python3-jsonschema"
        )
    )
    func judge() throws {
        let judge = try #require(SchemaJudge.shared, "apt-get install python3-jsonschema")
        func complaint(_ text: String) throws -> String {
            judge.complaint(about: try #require(YAMLReader([UInt8](text.utf8)).root))
        }
        #expect(try complaint(SettingsManual.text) == "")
        #expect(try complaint("lisen: []").contains("'lisen' was unexpected"))
        #expect(try complaint("cache: {size: 64}").contains("64 is not of type 'string'"))
        #expect(
            try complaint("vendors: {v: {kind: json, api: v2}}").contains("'url' is a required")
        )
    }

    @Test(
        "an unquoted scalar has its YAML 1.2 type; a quoted scalar is a string",
        arguments: [
            ("5", "5"), ("0600", "600"), ("-1", "-1"), ("+7", "7"), ("1.1", "1.1"), ("00", "0"),
            ("true", "true"), ("on", "\"on\""), ("~", "null"), ("\"5\"", "\"5\""), ("1.", "\"1.\""),
            ("1.2.3", "\"1.2.3\""), ("300ms", "\"300ms\""), ("[a, 1]", "[\"a\", 1]"),
            ("{a\\b: 'x\"y'}", "{\"a\\\\b\": \"x\\\"y\"}"), ("-", "[null]"), ("--1", "\"--1\""),
        ]
    )
    func types(yaml: String, json: String) throws {
        let root = try #require(YAMLReader([UInt8](yaml.utf8)).root)
        #expect(JSONText.inline(root) == json)
    }
}
