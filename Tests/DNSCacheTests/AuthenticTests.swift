// SPDX-License-Identifier: Apache-2.0
import DNSWire
import TestWorld
import Testing

@testable import DNSCache

private let www: Name = "www.example.com"

extension CachedAnswer {
    fileprivate var validated: CachedAnswer {
        var answer = self
        answer.isAuthentic = true
        return answer
    }
}

@Suite("The AD flag of cached answers (RFC 4035 §3.2.3, RFC 6840 §5.8)")
struct AuthenticTests {
    @Test
    func `the AD flag does not enlarge an entry`() {
        #expect(MemoryLayout<EntryHeader>.size == 56)
    }

    @Test(arguments: AnswerSource.allCases)
    func `a hit sets AD for clients that request AD, and the entry keeps its source`(
        _ source: AnswerSource
    ) throws {
        let table = TestTable()
        table.insert(try .addresses(www, ttl: 60, source: source).validated, at: 0)
        table.insert(try .addresses("plain.example.com", ttl: 60, source: source), at: 0)
        let asked: [(Asked, Bool)] = [
            (Asked(name: www), false), (Asked(name: www, wantsProof: true), true),
            (Asked(name: www, dnssecOK: false), false), (Asked(name: www, dnssecOK: true), true),
            (Asked(name: "plain.example.com", dnssecOK: true, wantsProof: true), false),
        ]
        for (asked, isTold) in asked {
            let answered = try #require(try table.ask(asked, at: 59))
            #expect(answered.message.header.authenticData == isTold, "\(asked)")
        }
        let life = Life()
        life.insert(try .addresses(www, ttl: 60, source: source).validated)
        let entry = try #require(life.entry(www, at: 59))
        #expect(entry.isAuthentic)
        #expect(entry.source == source)
        #expect(life.cache.remove(.source(source), now: life.at(59)) == 1)
    }

    @Test
    func `a stale answer has no AD flag, also if the operator marked the entry as stale`() throws {
        let table = TestTable()
        table.insert(try .addresses(www, ttl: 60, staleWindow: 900).validated, at: 0)
        #expect(table.fresh(www, at: 59)?.answer.isAuthentic == true)
        #expect(table.stale(www, at: 59)?.answer.isAuthentic == true)
        #expect(table.stale(www, at: 60)?.answer.isAuthentic == false)
        let life = Life()
        life.insert(try .addresses(www, ttl: 60, staleWindow: 900).validated)
        life.cache.markStale(.all, now: life.at(5))
        #expect(life.entry(www, at: 5)?.isAuthentic == false)
    }

    @Test
    func `a new answer replaces the AD flag of the old answer`() throws {
        let table = TestTable()
        table.insert(try .addresses(www).validated, at: 0)
        table.insert(try .addresses(www), at: 1)
        #expect(table.fresh(www, at: 2)?.answer.isAuthentic == false)
        table.insert(try .addresses(www).validated, at: 3)
        #expect(table.fresh(www, at: 4)?.answer.isAuthentic == true)
    }

    @Test
    func `a restart keeps the AD flag only for servers that the settings trust`() throws {
        let old = Life()
        old.insert(try .addresses(www, ttl: 300, source: .upstream, server: 1).validated)
        old.insert(
            try .addresses("b.example.com", ttl: 300, source: .upstream, server: 2).validated
        )
        old.insert(try .addresses("c.example.com", ttl: 300, source: .upstream, server: 1))
        let file = old.snapshot()
        #expect(file[8...9] == [0, 3])
        let new = Life()
        let summary = try new.cache.restore(
            file,
            now: new.origin,
            wallTime: 1_000_000,
            believing: { $0 == "server 1" }
        ) { _ in 7 }
        #expect(summary.restored == 3)
        #expect(new.entry(www)?.isAuthentic == true)
        #expect(new.entry("b.example.com")?.isAuthentic == false)
        #expect(new.entry("c.example.com")?.isAuthentic == false)
        let third = Life()
        try third.load(file)
        #expect(third.entry(www)?.isAuthentic == false)
    }

    @Test
    func `a snapshot of version 1 is loaded without AD flags`() throws {
        let old = Life()
        old.insert(try .addresses(www, ttl: 300, source: .upstream))
        var file = old.snapshot()
        file[9] = 1
        let new = Life()
        #expect(try new.load(file).restored == 1)
        #expect(new.entry(www)?.isAuthentic == false)

        old.insert(try .addresses(www, ttl: 300, source: .upstream).validated)
        var strange = old.snapshot()
        strange[9] = 1
        #expect(throws: SnapshotError.self) { try Life().load(strange) }
        strange[9] = 4
        #expect(throws: SnapshotError.version(4, at: 8)) { try Life().load(strange) }
    }
}
