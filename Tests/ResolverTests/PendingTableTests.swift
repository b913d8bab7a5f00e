// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Net
import Testing

@testable import Resolver

@Suite("The table of pending queries finds each query by its question")
@ServiceLoop
struct PendingTableTests {
    private let hash = NameHash(seed: 7)

    private func query(_ number: Int) throws -> PendingQuery {
        let name = try Name("n\(number).example")
        let query = Query(question: Question(name: name, type: .a))
        let now = Instant(nanoseconds: 0)
        return PendingQuery(
            query,
            hash: hash(name.octets.rawSpan, type: RecordType.a.rawValue),
            nil,
            now: now,
            deadline: now,
            Completion { _ in }
        )
    }

    @Test
    func `any number of queries is found until the queries are removed`() throws {
        var table = PendingTable(hash, ResolverLimits.inFlight)
        let queries = try (0..<500).map(query)
        for query in queries { table.insert(query) }
        #expect(table.count == 500)
        #expect(Set(table.all.map(\.query)) == Set(queries.map(\.query)))
        for (index, query) in queries.enumerated() where index % 2 == 0 {
            let removals = [table.remove(query), table.remove(query)]
            #expect(removals == [true, false])
        }
        for (index, query) in queries.enumerated() {
            let found = table.find(query.query, query.hash)
            #expect(found === (index % 2 == 0 ? nil : query))
        }
        #expect(table.count == 250)
        for query in queries { query.end(ResolvedAnswer(.evicted)) }
    }

    @Test
    func `letter case is ignored, and a refused client has its own query`() throws {
        var table = PendingTable(hash, ResolverLimits.inFlight)
        let (open, refused) = (try query(1), try query(1))
        let client = ClientNetwork(of: .v4(IPv4Address(value: 1)), isProven: true)
        refused.refused = client
        table.insert(open)
        table.insert(refused)
        let name = Name("N1.Example")
        let upper = Query(question: Question(name: name, type: .a))
        let hash = table.hash(upper)
        let found = [table.find(upper, hash), table.find(upper, hash, refused: client)]
        #expect(found[0] === open && found[1] === refused)
        for query in [open, refused] { query.end(ResolvedAnswer(.evicted)) }
    }
}
