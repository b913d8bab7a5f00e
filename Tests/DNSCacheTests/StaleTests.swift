// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import DNSCache

private let www: Name = "www.example.com"

extension AnswerVariant {
    static let plain = AnswerVariant(dnssecOK: false, checkingDisabled: false)
    fileprivate static let signed = AnswerVariant(dnssecOK: true, checkingDisabled: false)
}

@Suite("Stale answers (RFC 8767)")
struct StaleTests {
    private let table = TestTable()

    @Test
    func `a lookup of fresh answers never returns a stale answer`() throws {
        table.insert(try .addresses(www, ttl: 60, staleWindow: 86_400), at: 0)
        #expect(try table.ask(Asked(name: www), at: 59.999) != nil)
        for seconds in [60, 61, 3_600, 86_459, 86_460, 1_000_000] {
            #expect(try table.ask(Asked(name: www), at: Double(seconds)) == nil)
        }
    }

    @Test(arguments: [
        ("at its end", 60.0, 0 as UInt64?), ("an hour after", 3_660, 3_600),
        ("just inside the window", 159.999, 99), ("at the window's end", 160, nil),
        ("long after", 1e6, nil),
    ])
    func `an expired answer is available until its stale window ends`(
        _ label: String,
        _ seconds: Double,
        _ expiredFor: UInt64?
    ) throws {
        let window: UInt32 = seconds > 3_000 && expiredFor != nil ? 86_400 : 100
        table.insert(
            try .addresses(www, [7, 8], ttl: 60, server: 5, staleWindow: window),
            at: 0
        )
        let stale = table.stale(www, at: seconds)
        #expect(stale?.expiredFor == expiredFor)
        guard let stale else { return }
        #expect(stale.answer.addresses == [7, 8])
        #expect(stale.answer.ttls == [30, 30])
        #expect(stale.answer.question.name == www)
        #expect(stale.answer.lifetime == 0, "a stale answer must not be stored as new")
        #expect(stale.answer.server == 5)
        #expect(stale.age == UInt64(seconds))
        #expect(!stale.isHeld)
    }

    @Test
    func `without a stale window there is no stale answer`() throws {
        table.insert(try .addresses(www, ttl: 60), at: 0)
        #expect(table.stale(www, at: 60) == nil)
    }

    @Test
    func `a fresh answer is returned with its age subtracted`() throws {
        table.insert(try .addresses(www, ttl: 60, staleWindow: 100), at: 0)
        let stale = try #require(table.stale(www, at: 20))
        #expect(stale.expiredFor == nil)
        #expect(stale.answer.ttls == [40])
    }

    @Test
    func `an expired denial is a stale answer with its SOA`() throws {
        table.insert(try .denial(www, ttl: 60, staleWindow: 100), at: 0)
        let stale = try #require(table.stale(www, at: 100))
        #expect(stale.answer.rcode == .nxDomain)
        #expect(stale.answer.ttls == [30])
        #expect(stale.answer.sections.authorityCount == 1)
    }

    @Test
    func `the stale window of an entry starts when the entry is marked stale`() throws {
        table.insert(try .addresses(www, ttl: 3_600, staleWindow: 100), at: 0)
        table.expire(at: 10)
        #expect(table.stale(www, at: 10)?.expiredFor == 0)
        #expect(table.stale(www, at: 109)?.expiredFor == 99)
        #expect(table.stale(www, at: 110) == nil)
    }

    @Test
    func `the newest of several matching stale answers is returned`() throws {
        table.insert(try .addresses(www, [1], ttl: 5, staleWindow: 100), at: 0)
        table.insert(
            try .addresses(www, [2], ttl: 5, variant: .signed, staleWindow: 100),
            at: 1
        )
        #expect(table.stale(www, .plain, at: 20)?.answer.addresses == [1])
        #expect(table.stale(www, .signed, at: 20)?.answer.addresses == [2])
        #expect(table.stale(www, .signed, at: 105)?.answer.addresses == [2])
        #expect(table.stale(www, .plain, at: 105) == nil)
        #expect(table.stale(www, type: .aaaa, at: 20) == nil)
    }

    @Test
    func `a new answer replaces a stale answer, even with a shorter stale window`() throws {
        table.insert(try .addresses(www, [1], ttl: 5, staleWindow: 100), at: 0)
        table.insert(try .addresses(www, [2], ttl: 5), at: 10)
        #expect(table.table.numbers.entries == 1)
        #expect(table.stale(www, at: 16) == nil)
    }

    @Test
    func `the stale answer has the requested TTL`() throws {
        table.insert(try .addresses(www, [1], ttl: 0x7FFF_FFFF, staleWindow: 10), at: 0)
        table.expire(at: 0)
        for ttl in [0, 1, 30, 0x0102_0304, 0x7FFF_FFFF] as [UInt32] {
            let stale = table.stale(www, ttl: ttl, at: 0)
            #expect(stale?.answer.ttls == [ttl])
        }
    }

    @Test
    func `reading a fresh answer returns its remaining TTL, and does not count as a hit`() throws {
        table.insert(try .addresses(www, [7], ttl: 60, staleWindow: 100), at: 0)
        table.insert(.failure(www, ttl: 100), at: 1)
        let fresh = try #require(table.fresh(www, at: 20.9))
        #expect(fresh.answer.addresses == [7])
        #expect(fresh.answer.ttls == [40])
        #expect(fresh.answer.lifetime == 40)
        #expect(fresh.age == 20)
        #expect(table.fresh(www, at: 60) == nil)
        #expect(table.fresh(www, type: .aaaa, at: 20) == nil)
        table.insert(try .addresses(www, [8], ttl: 60, variant: .signed), at: 61)
        #expect(table.fresh(www, at: 62) == nil)
        #expect(table.fresh(www, .signed, at: 62)?.answer.addresses == [8])
        #expect(table.entry?.hits == 0)
    }

    @Test
    func `a failure does not remove the stale answer, and both are reported`() throws {
        table.insert(try .addresses(www, [1], ttl: 5, staleWindow: 100), at: 0)
        table.insert(.failure(www), at: 10)
        let held = try #require(table.stale(www, at: 10.5))
        #expect(held.answer.addresses == [1])
        #expect(held.isHeld)
        #expect(table.stale(www, at: 11)?.isHeld == false)
        #expect(table.table.faults() == [])
    }

    @Test
    func `a failure is not returned to a client with a matching stale answer`() throws {
        table.insert(
            try .addresses(www, [1], ttl: 5, variant: .signed, staleWindow: 100),
            at: 0
        )
        table.insert(.failure(www, ttl: 5), at: 10)
        #expect(try table.ask(Asked(name: www, dnssecOK: true), at: 11) == nil)
        let plain = try table.ask(Asked(name: www), at: 11)
        #expect(plain?.message.rcode == .servFail)
        #expect(try table.ask(Asked(name: www), at: 15) == nil)
    }

    @Test
    func `without a stale answer, a failure is returned until the failure expires`() throws {
        table.insert(try .addresses(www, [1], ttl: 5, staleWindow: 3), at: 0)
        table.insert(.failure(www), at: 8)
        let answered = try table.ask(Asked(name: www), at: 8.5)
        #expect(answered?.message.rcode == .servFail)
        #expect(table.stale(www, at: 8.5) == nil)
    }

    @Test
    func `a failure does not hide a fresh answer`() throws {
        for variant in [AnswerVariant.any, .plain] {
            table.insert(try .addresses(www, [1], variant: variant), at: 0)
            table.insert(.failure(www), at: 1)
            #expect(try table.ask(Asked(name: www), at: 1.5)?.addresses == [1])
        }
    }

    @Test
    func `a failure is never a stale answer, even a failure with a stale window`() throws {
        table.insert(.failure(www), at: 0)
        #expect(table.stale(www, at: 0.5) == nil)
        #expect(table.stale(www, at: 2) == nil)
    }

    @Test
    func `a failure replaces a failure; a good answer replaces failure and stale answer`() throws {
        table.insert(try .addresses(www, [1], ttl: 5, staleWindow: 100), at: 0)
        for second in 0..<5 { table.insert(.failure(www), at: Double(10 + second)) }
        #expect(table.table.numbers.entries == 2)
        table.insert(try .addresses(www, [2]), at: 20)
        #expect(table.table.numbers.entries == 1)
        #expect(try table.ask(Asked(name: www), at: 20)?.addresses == [2])
        #expect(table.table.faults() == [])
    }
}

@Suite("Requests for a refresh, and hit counts")
struct PrefetchTests {
    private let table = TestTable()

    private func wants(at seconds: Double) throws -> Bool? {
        try table.ask(Asked(name: www), at: seconds)?.hit.wantsRefresh
    }

    @Test
    func `a hit on an old entry requests one refresh`() throws {
        table.insert(try .addresses(www, ttl: 100, refreshAfter: 75), at: 0)
        #expect(try wants(at: 1) == false)
        #expect(try wants(at: 74.999) == false)
        #expect(try wants(at: 75) == true)
        #expect(try wants(at: 75) == false)
        #expect(try wants(at: 99.9) == false)
        #expect(try wants(at: 100) == nil)
    }

    @Test
    func `a first hit after the refresh age requests a refresh`() throws {
        table.insert(try .addresses(www, ttl: 100, refreshAfter: 75), at: 0)
        #expect(try wants(at: 90) == true)
        #expect(try wants(at: 91) == false)
    }

    @Test
    func `each new answer for a name gets its own refresh request`() throws {
        for start in [0.0, 1_000, 2_000] {
            table.insert(
                try .addresses(www, ttl: 100, refreshAfter: 75),
                at: start
            )
            #expect(try wants(at: start + 74) == false)
            #expect(try wants(at: start + 81) == true)
            #expect(try wants(at: start + 82) == false)
        }
    }

    @Test(arguments: [0, .max] as [UInt32])
    func `without a refresh age no hit requests a refresh`(_ refreshAfter: UInt32) throws {
        table.insert(
            try .addresses(www, ttl: 0x7FFF_FFFF, refreshAfter: refreshAfter),
            at: 0
        )
        for seconds in [0.0, 1, 1e6, 2e9, 2.1e9] { #expect(try wants(at: seconds) == false) }
    }

    @Test
    func `a hit with a truncated reply requests a refresh`() throws {
        table.insert(
            try .addresses(www, Array(0..<60), ttl: 100, refreshAfter: 1),
            at: 0
        )
        let answered = try table.ask(Asked(name: www), at: 2, limit: 512)
        #expect(answered?.hit.isTruncated == true)
        #expect(answered?.hit.wantsRefresh == true)
    }

    @Test
    func `an entry that eviction spares neither gets nor loses a refresh request`() throws {
        let table = TestTable(limit: 64 << 10)
        table.insert(try .addresses(www, ttl: 100, refreshAfter: 75), at: 0)
        _ = try table.ask(Asked(name: www), at: 0)
        let capacity = table.table.ring.capacity
        for index in 0..<capacity / 128 {
            table.insert(try .addresses(try Name("x\(index).example.org")), at: 0)
        }
        let answered = try #require(try table.ask(Asked(name: www), at: 80))
        #expect(answered.hit.wantsRefresh)
    }

    @Test
    func `a new answer inherits half of the hits of the replaced answer`() throws {
        table.insert(try .addresses(www), at: 0)
        for _ in 0..<9 { _ = try table.ask(Asked(name: www), at: 0) }
        var hits: [UInt32] = []
        for _ in 0..<5 {
            table.insert(try .addresses(www), at: 0)
            hits.append(table.entry?.hits ?? .max)
        }
        #expect(hits == [4, 2, 1, 0, 0])
    }

    @Test
    func `the hit counter wraps around after 2^30 hits`() {
        var demand = Demand(hits: .max)
        #expect(demand.hits == 0x3FFF_FFFF)
        #expect(!demand.isNew)
        demand.noteHit()
        #expect(demand.hits == 0)
        #expect(demand.isNew)
        #expect(demand.isAgain)
    }
}
