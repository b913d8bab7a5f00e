// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("RFC ledger")
struct LedgerTests {
    private static let page = "Sources/DNSWire/DNSWire.docc/DNSWire.md"

    private static func ledger() throws -> [(number: Int, state: String)] {
        try Repository.text(page).matches(of: #"^\| (\d+) \| ([YD!~]) \| .+ \|$"#).map {
            (try #require(Int($0[1])), $0[2])
        }
    }

    @Test("each RFC that a file cites has a line in the ledger")
    func cited() throws {
        let known = Set(try Self.ledger().map(\.number))
        #expect(known.count > 50)
        for file in Repository.files where file.path != Self.page {
            for citation in try file.text.matches(of: #"\bRFC (\d+)"#) {
                let number = try #require(Int(citation[1]))
                #expect(known.contains(number), "\(file.path) cites \(citation[0])")
            }
        }
    }

    private static func cited(below folder: String) throws -> Set<Int> {
        var numbers: Set<Int> = []
        for file in Repository.files where file.path.hasPrefix(folder) && file.suffix != "md" {
            for citation in try file.text.matches(of: #"\bRFC (\d+)"#) {
                numbers.insert(try #require(Int(citation[1])))
            }
        }
        return numbers
    }

    @Test("each RFC that the ledger marks as implemented is cited in a source and in a test")
    func done() throws {
        let sources = try Self.cited(below: "Sources/")
        let suites = try Self.cited(below: "Tests/")
        for line in try Self.ledger() where line.state == "Y" {
            #expect(sources.contains(line.number), "no source cites RFC \(line.number)")
            #expect(suites.contains(line.number), "no suite cites RFC \(line.number)")
        }
    }

    @Test("the ledger is sorted, and each RFC occurs once")
    func order() throws {
        let numbers = try Self.ledger().map(\.number)
        #expect(numbers == Set(numbers).sorted())
    }
}
