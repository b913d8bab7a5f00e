// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite("The RFC ledger")
struct LedgerTests {
    /// The page that has the ledger.
    private static let page = "Sources/DNSWire/DNSWire.docc/DNSWire.md"

    /// The lines of the ledger: number and state.
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

    @Test("the ledger is in order, each RFC once")
    func order() throws {
        let numbers = try Self.ledger().map(\.number)
        #expect(numbers == Set(numbers).sorted())
    }
}
