// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Rules of the house")
struct HouseRulesTests {
    @Test("each file says under which licence it is")
    func licence() {
        let kinds: Set = ["swift", "c", "h", "py", "service", "8", "1", "5"]
        for file in Repository.files {
            let isScript = file.suffix.isEmpty && file.text.hasPrefix("#!")
            guard kinds.contains(file.suffix) || isScript else { continue }
            // Swift has it in the first line; a script has its interpreter there.
            let lines = file.lines.prefix(file.suffix == "swift" ? 1 : 2)
            #expect(
                lines.contains { $0.hasSuffix("SPDX-License-Identifier: Apache-2.0") },
                "\(file.path)"
            )
        }
    }

    @Test("no file of Sources is longer than 400 lines", arguments: Repository.sources)
    func length(_ file: SourceFile) {
        #expect(file.lines.count <= 401)
    }

    @Test("nothing is left to be done")
    func unfinished() throws {
        // In two halves, or this file would be the first to be found.
        let words = ["TO" + "DO", "FIX" + "ME", "X" + "XX"].joined(separator: "|")
        for file in Repository.files {
            for (index, line) in file.lines.enumerated() {
                let found = try line.matches(of: "\\b(?:\(words))\\b")
                #expect(found.isEmpty, "\(file.path):\(index + 1)")
            }
        }
    }

    @Test("no error is turned into a crash")
    func forcedTries() throws {
        for file in Repository.files where file.suffix == "swift" {
            #expect(!Code(file.text).text.contains("try!"), "\(file.path)")
        }
    }

    @Test("what locks is seen by ThreadSanitizer", arguments: Repository.sources)
    func locks(_ file: SourceFile) throws {
        #expect(try Code(file.text).text.matches(of: #"\bMutex\b"#).isEmpty)
    }

    @Test("no test sleeps")
    func sleeps() throws {
        let pattern = #"\b(?:Task|Thread|time)\.sleep\b|(?<![.\w])(?:u|nano)?sleep\("#
        for file in Repository.files where file.path.hasPrefix("Tests/") {
            let code = file.suffix == "swift" ? Code(file.text).text : file.text
            #expect(try code.matches(of: pattern).isEmpty, "\(file.path)")
        }
    }

    @Test("no file knows the machine it was written on")
    func places() throws {
        let names = ["wo" + "rk", "fa" + "rm"].joined(separator: "|")
        for file in Repository.files {
            for (index, line) in file.lines.enumerated() {
                let found = try line.matches(
                    of: "(?<![\\w.:/-])/(?:\(names))(?:/|\\b)|\\b(?:\(names))-\\w"
                )
                #expect(found.isEmpty, "\(file.path):\(index + 1): \(line)")
            }
        }
    }

    @Test(
        "each room has a page that says what it is for",
        arguments: [
            "DNSWire", "DNSCache", "Control", "Net", "HTTPDNS", "Upstream", "Resolver", "Server",
            "httpdns-emulator",
        ]
    )
    func pages(_ room: String) throws {
        let page = try? Repository.text("Sources/\(room)/\(room).docc/\(room).md")
        let text = try #require(page, "there is no Sources/\(room)/\(room).docc/\(room).md")
        let module = room.replacingOccurrences(of: "-", with: "_")
        #expect(text.hasPrefix("# ``\(module)``\n"))
    }
}
