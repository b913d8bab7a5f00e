// SPDX-License-Identifier: Apache-2.0
import Testing

/// Marks that switch off a check of the compiler.
private let marks = #"\bunsafe\b(?!\))|\bnonisolated\(unsafe\)|@unchecked Sendable|^\s*@safe\b"#

/// How many such marks each room has at most: more are a decision, made here.
private let allowance = [
    // Calls of C, each with the maps or octets that it works on.
    "Acceleration": 29,
    "DNSCache": 57,
    "DNSWire": 11,
    "HTTPDNS": 57,
    "Locks": 14,
    // The last one: a handle of libcurl forgets its URL.
    "Net": 414,
    "Server": 55,
    "httpdns-emulator": 22,
    // The last one: ioctl(2) says how wide the terminal is.
    "httpdnsctl": 77,
    "httpdnsd": 1,
]

/// The compiler finds what is unsafe; a person says why it is right all the same.
@Suite("Each unsafe thing says why it is safe")
struct SafetyTests {
    /// The lines of a file that have such a mark, counted from 0.
    private static func places(in code: Code) throws -> [Int] {
        try code.lines.indices.filter { try !code.lines[$0].matches(of: marks).isEmpty }
    }

    /// What is said above a type holds for all that is in it.
    @Test(
        "a line `// SAFETY:` stands in or above each declaration, or above its type",
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

    @Test("no room has more of it than was decided", arguments: Repository.rooms.sorted())
    func counted(_ room: String) throws {
        let files = Repository.sources.filter { $0.room == room }
        let count = try files.map { try Self.places(in: Code($0.text)).count }.reduce(0, +)
        #expect(count <= allowance[room] ?? 0)
    }

    @Test("a declaration reaches from its comments to its brace")
    func declarations() {
        let code = Code(
            """
            struct Thing {
                // SAFETY: for all
                nonisolated(unsafe) let pointer: Int

                /// Does it.
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
