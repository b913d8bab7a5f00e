// SPDX-License-Identifier: Apache-2.0
import DNSWire
import Testing

@testable import DNSCache

struct Model {
    struct Key: Hashable {
        let question: Question
        let variant: AnswerVariant
        let isFailure: Bool
    }

    struct Entry {
        let addresses: [UInt32]
        let rcode: RCode
        let storedAt: UInt64
        let ttl: UInt32
        let window: UInt32
        var lifetime: UInt64

        func age(_ now: UInt64) -> UInt64 { (now - storedAt) / 1000 }

        func isFresh(_ now: UInt64) -> Bool { age(now) < lifetime }

        func isStale(_ now: UInt64) -> Bool {
            !isFresh(now) && age(now) < lifetime + UInt64(window)
        }

        var isNegative: Bool {
            rcode == .nxDomain || rcode == .noError && addresses.isEmpty
        }
    }

    var entries: [Key: Entry] = [:]

    mutating func insert(_ answer: CachedAnswer, _ addresses: [UInt32], now: UInt64) {
        let isFailure = answer.rcode == .servFail
        entries = entries.filter { key, _ in
            key.question != answer.question
                || answer.variant != .any && answer.variant != key.variant
                || isFailure && !key.isFailure
        }
        let key = Key(question: answer.question, variant: answer.variant, isFailure: isFailure)
        entries[key] = Entry(
            addresses: addresses,
            rcode: answer.rcode,
            storedAt: now,
            ttl: answer.lifetime,
            window: isFailure ? 0 : answer.staleWindow,
            lifetime: UInt64(answer.lifetime)
        )
    }

    private func suiting(_ asked: Asked, isFailure: Bool) -> [Entry] {
        let question = Question(name: asked.name, type: asked.type)
        return [asked.variant, .any].compactMap { variant in
            entries[Key(question: question, variant: variant, isFailure: isFailure)]
        }
    }

    /// Returns the answers that the cache may return to `asked`.
    ///
    /// If `mayDrop` is true, the cache may have evicted a NOERROR or NXDOMAIN answer.
    func answers(_ asked: Asked, mayDrop: Bool, now: UInt64) -> [Entry] {
        let good = suiting(asked, isFailure: false)
        let failures = suiting(asked, isFailure: true).filter { $0.isFresh(now) }
        let fresh = good.filter { $0.isFresh(now) }
        if mayDrop { return fresh + failures }
        if !fresh.isEmpty { return fresh }
        return good.contains { $0.isStale(now) } ? [] : failures
    }

    func fault(of stale: StaleAnswer?, to asked: Asked, mayDrop: Bool, now: UInt64) -> String? {
        let right = suiting(asked, isFailure: false).filter { $0.isFresh(now) || $0.isStale(now) }
        guard let stale else { return right.isEmpty || mayDrop ? nil : "there is none" }
        let newest = right.map(\.storedAt).max()
        let isHeld = suiting(asked, isFailure: true).contains { $0.isFresh(now) }
        if mayDrop ? stale.isHeld && !isHeld : stale.isHeld != isHeld { return "held or not" }
        let isRight = right.contains { entry in
            (mayDrop || entry.storedAt == newest)
                && stale.answer.rcode == entry.rcode
                && stale.age == entry.age(now)
                && stale.expiredFor == (entry.isFresh(now) ? nil : entry.age(now) - entry.lifetime)
                && (asked.type != .a || stale.answer.addresses == entry.addresses)
                && (asked.type != .a
                    || stale.answer.ttls.allSatisfy { ttl in
                        ttl == (entry.isFresh(now) ? entry.ttl - UInt32(entry.age(now)) : 30)
                    })
        }
        return isRight ? nil : "it is not the expected one"
    }

    mutating func remove(_ selection: AnswerCache.Selection, now: UInt64) -> Int {
        let before = entries.count
        entries = entries.filter { !Self.matches($0.key, $0.value, selection, now: now) }
        return before - entries.count
    }

    mutating func markStale(_ selection: AnswerCache.Selection, now: UInt64) -> Int {
        var count = 0
        for (key, entry) in entries
        where entry.isFresh(now) && Self.matches(key, entry, selection, now: now) {
            entries[key]?.lifetime = entry.age(now)
            count += 1
        }
        return count
    }

    private static func matches(
        _ key: Key,
        _ entry: Entry,
        _ selection: AnswerCache.Selection,
        now: UInt64
    ) -> Bool {
        switch selection {
        case .all: true
        case .name(let name, let type):
            key.question.name == name && (type == nil || key.question.type == type)
        case .tree(let name): key.question.name.isEqualOrBelow(name)
        case .negative: entry.isNegative
        case .stale: !entry.isFresh(now)
        case .source, .servers: false
        }
    }
}
