// SPDX-License-Identifier: Apache-2.0
import Testing

private let marks = #"\bunsafe\b(?!\))|\bnonisolated\(unsafe\)|@unchecked Sendable|^\s*@safe\b"#

/// Maximum number of unsafe expressions per module; an increase needs a decision.
private let allowance = [
    "Acceleration": 29,
    "Administration": 6,
    "Configuration": 40,
    "DNSCache": 59,
    "DNSWire": 11,
    "DaemonLog": 5,
    "Fleet": 40,
    "HTTPDNS": 52,
    "Locks": 17,
    "Net": 593,
    "httpdns-emulator": 22,
    "httpdnsctl": 74,
    "httpdnsd": 2,
]

@Suite("Unsafe expressions have a SAFETY comment")
struct SafetyTests {
    private static func places(in code: Code) throws -> [Int] {
        try code.lines.indices.filter { try !code.lines[$0].matches(of: marks).isEmpty }
    }

    @Test(
        "each unsafe declaration, or its type, has a line `// SAFETY:`",
        arguments: Repository.sources
    )
    func explained(_ file: SourceFile) throws {
        let code = Code(file.text)
        for index in try Self.places(in: code) {
            let lines =
                code.commented[code.declaration(around: index)]
                + code.commentsOfTypes(around: index)
            #expect(lines.contains { $0.contains("// SAFETY: ") }, "\(file.path):\(index + 1)")
        }
    }

    @Test(
        "no module has more unsafe expressions than its limit",
        arguments: Repository.rooms.sorted()
    )
    func counted(_ room: String) throws {
        let files = Repository.sources.filter { $0.room == room }
        let count = try files.map { try Self.places(in: Code($0.text)).count }.reduce(0, +)
        #expect(count <= allowance[room] ?? 0)
    }

    @Test("the check finds a declaration from its comments to its closing brace")
    func declarations() {
        let code = Code(
            """
            struct Thing {
                // SAFETY: for all
                nonisolated(unsafe) let pointer: Int

                /// A documented function.
                func act(
                    on other: Int
                ) -> Int {
                    // SAFETY: only once
                    if other > 0 {
                        return unsafe other
                    }
                    return 0
                }

                var text: String {
                    get { unsafe "// SAFETY: no comment" }
                }

                func short() { unsafe call() }
            }
            """
        )
        #expect(code.declaration(around: 2) == 1...2)
        #expect(code.declaration(around: 10) == 4...13)
        #expect(code.declaration(around: 16) == 15...17)
        #expect(code.declaration(around: 19) == 19...19)
        #expect(!code.lines[16].contains("SAFETY"))
    }
}
