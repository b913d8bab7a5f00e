// SPDX-License-Identifier: Apache-2.0
import Foundation
import Testing

@Suite("Project rules")
struct HouseRulesTests {
    @Test("each file names its license")
    func licence() {
        let kinds: Set = ["swift", "c", "h", "py", "service", "8", "1", "5"]
        for file in Repository.files {
            let isScript = file.suffix.isEmpty && file.text.hasPrefix("#!")
            guard kinds.contains(file.suffix) || isScript else { continue }
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

    @Test("no file contains the usual marks of unfinished code")
    func unfinished() throws {
        // Split, so that this file does not match.
        let words = ["TO" + "DO", "FIX" + "ME", "X" + "XX"].joined(separator: "|")
        for file in Repository.files {
            for (index, line) in file.lines.enumerated() {
                let found = try line.matches(of: "\\b(?:\(words))\\b")
                #expect(found.isEmpty, "\(file.path):\(index + 1)")
            }
        }
    }

    @Test("no Swift file has a forced try (`try!`)")
    func forcedTries() throws {
        for file in Repository.files where file.suffix == "swift" {
            #expect(!Code(file.text).text.contains("try!"), "\(file.path)")
        }
    }

    @Test(
        "no source uses Mutex, because ThreadSanitizer does not see its locks",
        arguments: Repository.sources
    )
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

    @Test("no file contains paths or names of the development machine")
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
        "each module has a documentation page",
        arguments: [
            "DNSWire", "DNSCache", "Control", "Net", "HTTPDNS", "Upstream", "Resolver",
            "Configuration", "Frontend", "DaemonLog", "Administration", "Daemon",
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
