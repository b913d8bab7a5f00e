// SPDX-License-Identifier: Apache-2.0
import DNSWire
import TestWorld
import Testing

@testable import DNSCache

@Suite("The cache has the same results as a model that stores answers in a dictionary")
struct ModelTests {
    @Test(
        arguments: [
            ("room for all", 1 << 20, false), ("room for few", 24 << 10, true),
        ],
        [UInt64(1), 2, 3]
    )
    func `random operations have the same results as with a dictionary`(
        _ size: (label: String, limit: Int, mayDrop: Bool),
        _ seed: UInt64
    ) throws {
        var random = Seeded(seed: seed)
        var table = AnswerTable(limit: size.limit, seed: seed)
        var model = Model()
        var now: UInt64 = 0
        var hits = 0
        var staleHits = 0
        var removed = 0
        let rounds = size.mayDrop ? 12_000 : 6_000
        for round in 0..<rounds {
            now += UInt64.random(in: 0...300, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case ..<45:
                let (answer, addresses) = try Self.answer(&random)
                let isStored = table.insert(answer, now: now)
                #expect(isStored)
                model.insert(answer, addresses, now: now)
            case ..<50:
                let asked = Self.asked(&random)
                let stale = table.staleAnswer(to: asked, now: now)
                let fault = model.fault(of: stale, to: asked, mayDrop: size.mayDrop, now: now)
                if let fault {
                    Issue.record("stale answer to \(asked) in round \(round): \(fault)")
                    return
                }
                if stale?.expiredFor != nil { staleHits += 1 }
            case ..<97:
                let asked = Self.asked(&random)
                let right = model.answers(asked, mayDrop: size.mayDrop, now: now)
                guard let answered = try table.ask(asked, now: now, limit: 2048) else {
                    if !size.mayDrop, !right.isEmpty {
                        Issue.record("lost \(asked) in round \(round)")
                        return
                    }
                    continue
                }
                hits += 1
                let isRight = right.contains { entry in
                    answered.addresses == entry.addresses && answered.message.rcode == entry.rcode
                        && answered.ttls.allSatisfy { ttl in
                            ttl == entry.ttl - UInt32(entry.age(now))
                        }
                }
                if !isRight {
                    Issue.record("wrong answer to \(asked) in round \(round)")
                    return
                }
            case ..<98:
                let selection = Self.selection(&random)
                let count = table.markAllStale(selection, now: now)
                let expected = model.markStale(selection, now: now)
                if size.mayDrop ? count > expected : count != expected {
                    Issue.record("marked \(count) and not \(expected) in round \(round)")
                    return
                }
            default:
                let selection = Self.selection(&random)
                let count = table.removeAll(selection, now: now)
                let expected = model.remove(selection, now: now)
                removed += count
                while table.giveBack() {}
                if size.mayDrop ? count > expected : count != expected {
                    Issue.record("removed \(count) and not \(expected) in round \(round)")
                    return
                }
            }
            if round.isMultiple(of: 300) {
                let faults = table.faults()
                guard faults.isEmpty else {
                    Issue.record("\(faults) in round \(round)")
                    return
                }
            }
        }
        #expect(hits > rounds / 25)
        #expect(staleHits > 10)
        #expect(removed > 100)
        #expect((table.numbers.evictions > 0) == size.mayDrop)
        if !size.mayDrop { #expect(table.numbers.entries == model.entries.count) }
    }

    private static func name(_ random: inout Seeded) -> Name {
        let host = Int.random(in: 0..<25, using: &random)
        let domain = Int.random(in: 0..<4, using: &random)
        let text = "h\(host).d\(domain).example.com"
        return (try? Name(Bool.random(using: &random) ? text : text.uppercased())) ?? .root
    }

    private static func type(_ random: inout Seeded) -> RecordType {
        Bool.random(using: &random) ? .a : .aaaa
    }

    private static func answer(_ random: inout Seeded) throws -> (CachedAnswer, [UInt32]) {
        let variant =
            Bool.random(using: &random)
            ? AnswerVariant.any : AnswerVariant(rawValue: UInt8.random(in: 0...3, using: &random))
        let ttl = UInt32.random(in: 1...120, using: &random)
        let window = [0, 5, 600, .max][Int.random(in: 0..<4, using: &random)] as UInt32
        if Int.random(in: 0..<5, using: &random) == 0 {
            let rcode = [RCode.noError, .nxDomain, .servFail][Int.random(in: 0..<3, using: &random)]
            let answer = try CachedAnswer.denial(
                name(&random),
                rcode,
                type: type(&random),
                ttl: ttl,
                variant: variant,
                staleWindow: window
            )
            return (answer, [])
        }
        let addresses = (0..<Int.random(in: 1...9, using: &random)).map { _ in
            UInt32.random(in: 0...UInt32.max, using: &random)
        }
        let answer = try CachedAnswer.addresses(
            name(&random),
            addresses,
            type: Bool.random(using: &random) ? .a : .odd,
            ttl: ttl,
            variant: variant,
            staleWindow: window
        )
        return (answer, addresses)
    }

    private static func asked(_ random: inout Seeded) -> Asked {
        Asked(
            name: name(&random),
            type: [.a, .aaaa, .odd][Int.random(in: 0..<3, using: &random)],
            dnssecOK: [nil, false, true][Int.random(in: 0..<3, using: &random)],
            checkingDisabled: Bool.random(using: &random)
        )
    }

    private static func selection(_ random: inout Seeded) -> AnswerCache.Selection {
        switch Int.random(in: 0..<40, using: &random) {
        case 0: .all
        case 1...4: .negative
        case 5: .stale
        case 6...8: .tree(name(&random).parent ?? .root)
        case 9...12: .tree(name(&random))
        case 13...25: .name(name(&random), nil)
        default: .name(name(&random), .a)
        }
    }
}

extension AnswerTable {
    fileprivate mutating func removeAll(_ selection: AnswerCache.Selection, now: UInt64) -> Int {
        change(selection, to: .remove, now: now) { _, _ in true }
    }

    fileprivate mutating func markAllStale(
        _ selection: AnswerCache.Selection,
        now: UInt64
    ) -> Int {
        change(selection, to: .expire(now: now), now: now) { $0.isFresh($1, now: now) }
    }

    private mutating func change(
        _ selection: AnswerCache.Selection,
        to verdict: Verdict,
        now: UInt64,
        where isMeant: (borrowing AnswerTable, Int) -> Bool
    ) -> Int {
        var count = 0
        let end = walk(from: 0, count: .max) { table, reference in
            guard table.matches(reference, selection, now: now), isMeant(table, reference) else {
                return .keep
            }
            count += 1
            return verdict
        }
        #expect(end == nil)
        return count
    }

    fileprivate mutating func staleAnswer(to asked: Asked, now: UInt64) -> StaleAnswer? {
        staleAnswer(
            for: Question(name: asked.name, type: asked.type),
            variant: asked.variant,
            ttl: 30,
            now: now
        )
    }
}
