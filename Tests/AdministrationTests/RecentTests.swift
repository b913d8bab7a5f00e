// SPDX-License-Identifier: Apache-2.0
import Control
import DNSCache
import DNSWire
import Net
import Resolver
import Testing

@testable import Administration
@testable import Configuration
@testable import Frontend

@Suite("Recent queries")
struct RecentTests {
    @ServiceLoop
    func list(
        _ records: [(QueryRecord, name: [UInt8])],
        _ origins: AnswerSourceRegistry = AnswerSourceRegistry()
    )
        -> RecentList
    {
        let recent = RecentQueries()
        for (record, name) in records {
            recent.ring.begin(1)
            record.write(to: recent.ring, 0, name: name.rawSpan)
            recent.ring.end(1)
        }
        return RecentList(RecentReader.all(of: [recent]), .system, origins)
    }

    func record(
        _ name: String,
        _ source: QuerySource = .cache,
        microseconds: UInt32 = 10,
        arrival: UInt64 = 0,
        fallback: Provenance.Fallback? = nil,
        client: String = "192.0.2.7",
        rcode: UInt16 = 0,
        flags: QueryRecord.Flags = []
    ) throws -> (QueryRecord, name: [UInt8]) {
        let octets = try Name(name).octets
        return (
            QueryRecord(
                arrival: arrival,
                microseconds: microseconds,
                type: 28,
                origin: AnswerSourceRegistry.itself,
                rcode: rcode,
                source: source,
                transport: .tcp,
                flags: flags,
                fallback: fallback,
                client: try #require(IPAddress(client)),
                nameCount: octets.count
            ),
            Array(octets)
        )
    }

    @Test("the list returns recorded queries with names of any length")
    @ServiceLoop
    func whole() throws {
        let labels = ["a", "bc", "def.gh", "1234567", "12345678", "123456789"]
        for label in labels {
            let noted = try record(
                "\(label).example.com",
                .upstream,
                microseconds: 4_000_000_000,
                fallback: .failed,
                client: "2001:db8::42",
                rcode: 3,
                flags: [.empty, .truncated, .merged, .refreshed]
            )
            let event = try #require(
                list([noted]).events(passing: QueryFilter(), most: 1).queries.first
            )
            #expect(event.name == "\(label).example.com.")
            #expect(event.type == "AAAA" && event.rcode == "nxdomain" && event.source == "upstream")
            #expect(event.fallback == "failed" && event.client == "2001:db8::42")
            #expect(event.tookUs == 4_000_000_000 && event.transport == "tcp")
            #expect(event.flags == ["truncated", "merged", "refreshed"])
            #expect(event.server == nil)
        }
    }

    @Test("the list truncates a name that is too long for a record")
    @ServiceLoop
    func longName() throws {
        let label = String(repeating: "x", count: 50)
        let name = [label, label, label, label, "tail", "example"].joined(separator: ".")
        let event = list([try record(name)]).events(passing: QueryFilter(), most: 1).queries[0]
        #expect(event.name == [label, label, label, label, "tail", "..."].joined(separator: "."))
    }

    @Test("the list shows an IPv4-mapped client address as IPv4")
    @ServiceLoop
    func mapped() throws {
        let list = list([try record("example.com", client: "::ffff:192.0.2.9")])
        #expect(list.events(passing: QueryFilter(), most: 1).queries[0].client == "192.0.2.9")
    }

    @Test(
        "a filter returns exactly the matching queries",
        arguments: [
            ("{}", 4), (#"{"name":"example.com"}"#, 3), (#"{"name":"www.example.com"}"#, 2),
            (#"{"type":"AAAA"}"#, 4), (#"{"type":"A"}"#, 0), (#"{"source":"cache"}"#, 2),
            (#"{"source":"failed"}"#, 1), (#"{"rcode":"SERVFAIL"}"#, 1),
            (#"{"rcode":"nodata"}"#, 1),
            (#"{"client":"192.0.2.8"}"#, 1), (#"{"slower-ms":1.5}"#, 2), (#"{"slower-ms":2}"#, 1),
            (#"{"slower-us":1500}"#, 2), (#"{"source":"isp"}"#, 0), (#"{"rcode":"yxdomain"}"#, 0),
            (#"{"name":"www.example.com","source":"cache"}"#, 1),
        ]
    )
    @ServiceLoop
    func filters(_ text: String, _ count: Int) throws {
        let records = [
            try record("www.example.com"),
            try record("WWW.Example.com", .upstream, microseconds: 2000, flags: .empty),
            try record("a.example.com", .failed, microseconds: 2001, rcode: 2),
            try record("example.org", client: "192.0.2.8"),
        ]
        let request = try JSONText.decode(WatchRequest.self, from: Array(text.utf8))
        let filter = try QueryFilter(request, names: ["tencent", "isp"])
        let reply = list(records).events(passing: filter, most: 10)
        #expect(reply.queries.count == count && reply.missed == 0)
    }

    @Test(
        "the error for an invalid filter lists the valid values",
        arguments: [
            (#"{"rcode":"foo"}"#, "rcode: unknown value `foo`; valid: noerror, nodata, nxdomain,"),
            (#"{"rcode":"nxdomian"}"#, "did you mean `nxdomain`?"),
            (#"{"source":"tencnet"}"#, "did you mean `tencent`?"),
            (#"{"source":"foo"}"#, "failed, tencent, isp"),
            (#"{"slower-ms":1,"slower-us":1}"#, "cannot be combined"),
        ]
    )
    func refused(_ text: String, _ reason: String) throws {
        let request = try JSONText.decode(WatchRequest.self, from: Array(text.utf8))
        let error = #expect(throws: MethodError.self) {
            try QueryFilter(request, names: ["tencent", "isp"])
        }
        #expect(error?.description.contains(reason) == true, "\(error as Any)")
    }

    @Test(
        "the number of queries in a reply is limited; the reply has the number of omitted queries"
    )
    @ServiceLoop
    func most() throws {
        let records = try (0..<10).map { number in
            try record("n\(number).example.com", arrival: UInt64(100 - number))
        }
        let reply = list(records).events(passing: QueryFilter(), most: 3)
        #expect(
            reply.queries.map(\.name) == ["n9.example.com.", "n8.example.com.", "n7.example.com."]
        )
        #expect(reply.missed == 7)
    }

    @Test("the lists of `top` have the most frequent values with their counts")
    @ServiceLoop
    func counts() async throws {
        let list = list([
            try record("a.example.com"), try record("A.example.com", .vendor, microseconds: 900),
            try record("a.example.com", client: "192.0.2.8"),
            try record("b.example.com", .upstream, microseconds: 500, fallback: .empty),
            try record("b.example.com", .upstream, microseconds: 700, fallback: .failed),
            try record("localhost", .local),
        ])
        let names = list.most(.names, count: 2)
        #expect(names.total == 6)
        #expect(names.entries.map(\.name) == ["a.example.com.", "b.example.com."])
        #expect(names.entries.map(\.queries) == [3, 2])
        #expect(names.entries.map(\.misses) == [1, 2])
        #expect(names.entries.map(\.slowestUs) == [900, 700])
        let misses = list.most(.misses, count: 10)
        #expect(misses.total == 3)
        #expect(misses.entries.map(\.name) == ["b.example.com.", "a.example.com."])
        let fallback = list.most(.fallback, count: 10)
        #expect(fallback.total == 2 && fallback.entries.count == 1)
        #expect(fallback.entries[0].fallbackEmpty == 1 && fallback.entries[0].fallbackFailed == 1)
        let clients = list.most(.clients, count: 10)
        #expect(clients.entries.map(\.name) == ["192.0.2.7", "192.0.2.8"])
        let slow = list.slowest(2)
        #expect(slow.entries.map(\.tookUs) == [900, 700] && slow.total == 6)
    }

    @Test("a reader of recent queries continues after the last query that it has read")
    @ServiceLoop
    func reader() throws {
        let (old, new) = (RecentQueries(), RecentQueries())
        func note(_ recent: RecentQueries, _ name: String) throws {
            let noted = try record(name)
            recent.ring.begin(1)
            noted.0.write(to: recent.ring, 0, name: noted.name.rawSpan)
            recent.ring.end(1)
        }
        try note(old, "before.example.com")
        var reader = RecentReader(startingAt: [old])
        #expect(reader.news(of: [old]).words.isEmpty)
        try note(old, "a.example.com")
        try note(new, "b.example.com")
        let news = reader.news(of: [old, new])
        #expect(news.words.count == 2 * RecordRing.wordCount && news.lost == 0)
        #expect(reader.news(of: [old, new]).words.isEmpty)
    }
}
