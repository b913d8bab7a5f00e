// SPDX-License-Identifier: Apache-2.0
import DNSCache
import DNSWire
import Net
import Resolver
import TestWorld
import Testing

@testable import Administration
@testable import Frontend

@Suite("Query log")
struct QueryLogTests {
    private let hours = TestClock()
    private let diary = LogRecorder()
    private let recent = RecentQueries()

    private func note(_ count: Int) throws {
        let name = Array(try Name("www.example.com").octets)
        for number in 0..<count {
            let record = QueryRecord(
                arrival: UInt64(number),
                microseconds: 7,
                type: 1,
                origin: AnswerSourceRegistry.itself,
                rcode: 0,
                source: .local,
                transport: .udp,
                flags: [],
                fallback: nil,
                client: .v4(IPv4Address(value: 0xC000_0207)),
                nameCount: name.count
            )
            recent.ring.begin(1)
            record.write(to: recent.ring, 0, name: name.rawSpan)
            recent.ring.end(1)
        }
    }

    @ServiceLoop
    private func log() -> QueryLog {
        let log = QueryLog(diary.logger, hours.clocks) { [recent] in
            ([recent], AnswerSourceRegistry())
        }
        log.use(true)
        return log
    }

    @Test("the log has all queries that arrive while the query log is enabled")
    @ServiceLoop
    func ends() async throws {
        try note(1)
        let log = log()
        try note(2)
        #expect(diary.all.isEmpty)
        log.use(false)
        #expect(diary.all == ["info: query", "info: query"])
        try note(1)
        log.use(false)
        #expect(diary.all.count == 2)
        log.use(true)
        log.use(true)
        try note(1)
        log.use(false)
        #expect(diary.all.count == 3)
    }

    @Test("if queries arrive too fast, the query log counts and reports the queries that it omits")
    @ServiceLoop
    func tooMany() async throws {
        let log = log()
        try note(RecentReader.mostEvents + 3)
        log.use(false)
        #expect(diary.all.count == RecentReader.mostEvents + 1)
        #expect(
            diary.all.last
                == "warning: log: 3 queries were not logged, because they arrived too fast"
        )
        #expect(log.missed == 3)
        log.use(true)
        try note(RecordRing.mostRecords + 5)
        log.use(false)
        #expect(log.missed == 3 + UInt64(RecordRing.mostRecords + 5 - RecentReader.mostEvents))
    }

    @Test("while the query log is enabled, the daemon writes new queries every second")
    @ServiceLoop
    func looks() async throws {
        let log = log()
        for round in 1...3 {
            try note(1)
            await hours.rest()
            hours.advance(by: 1)
            await hours.rest()
            #expect(diary.all.count == round)
        }
        log.use(false)
        #expect(diary.all.count == 3)
    }
}
