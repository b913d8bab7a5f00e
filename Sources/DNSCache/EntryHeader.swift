// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Header of an entry; in the ring, the name, TTL offsets, sections and EDNS options follow.
///
///     stored                age = lifetime           age = lifetime + staleWindow
///       |--------- fresh --------|-------- stale --------|---- useless, evicted when oldest
///                     ^ refreshAt
struct EntryHeader {
    /// Octets, a multiple of 8; a filler (`EntryRing`) has only the fields `length` and `isLive`.
    var length: UInt32

    var isLive: Bool
    var variant: UInt8
    var rcode: UInt8

    private var origin: UInt8

    var hash: UInt64

    /// Milliseconds since `AnswerCache.origin`; negative if an earlier process stored the entry.
    var storedAt: Int64

    var lifetime: UInt32

    var demand: Demand

    var staleWindow: UInt32

    /// Refresh age in seconds; the top bit is set after the first hit at this age.
    var refreshAt: UInt32

    var type: UInt16
    var server: UInt16
    var answerCount: UInt16
    var authorityCount: UInt16
    var additionalCount: UInt16
    var ttlCount: UInt16
    var sectionCount: UInt16
    var nameCount: UInt8
    var optionCount: UInt8

    init(_ answer: borrowing CachedAnswer, hash: UInt64, storedAt: Int64) {
        length = 0
        isLive = true
        variant = answer.variant.rawValue
        rcode = UInt8(truncatingIfNeeded: answer.rcode.rawValue)
        origin = answer.source.rawValue | (answer.isAuthentic ? Self.authentic : 0)
        self.hash = hash
        self.storedAt = storedAt
        lifetime = answer.lifetime
        demand = Demand()
        staleWindow = answer.isFailure ? 0 : answer.staleWindow
        refreshAt = answer.refreshAfter == 0 ? Self.never : min(answer.refreshAfter, Self.never)
        type = answer.question.type.rawValue
        server = answer.server
        answerCount = answer.sections.answerCount
        authorityCount = answer.sections.authorityCount
        additionalCount = answer.sections.additionalCount
        ttlCount = UInt16(answer.sections.ttlOffsets.count)
        sectionCount = UInt16(answer.sections.octets.count)
        nameCount = UInt8(answer.question.name.octets.count)
        optionCount = UInt8(exactly: answer.options.count) ?? 0
        if !answer.isFailure, optionCount == 0, sectionCount <= MirroredAnswer.mostOctets,
            ttlCount <= MirroredAnswer.mostTTLs
        {
            origin |= Self.offerable
        }
        length = UInt32((neededOctets + 7) & ~7)
    }
}

// MARK: - Place

extension EntryHeader {
    static var nameOffset: Int { MemoryLayout<EntryHeader>.size }

    var ttlOffset: Int { Self.nameOffset + (Int(nameCount) + 1) & ~1 }

    var sectionOffset: Int { ttlOffset + 2 * Int(ttlCount) }

    var optionOffset: Int { sectionOffset + Int(sectionCount) }

    var neededOctets: Int { optionOffset + Int(optionCount) }
}

// MARK: - Time

extension EntryHeader {
    func age(_ now: UInt64) -> UInt64 { passed(now) / 1000 }

    private func passed(_ now: UInt64) -> UInt64 {
        UInt64(max(0, Int64(bitPattern: now) &- storedAt))
    }

    /// True during the lifetime; avoids the slow division of `age(_:)`.
    func isFresh(_ now: UInt64) -> Bool { passed(now) < 1000 &* UInt64(lifetime) }

    private var end: UInt64 { UInt64(lifetime) + UInt64(staleWindow) }

    /// True during the stale window (RFC 8767).
    func isStale(_ now: UInt64) -> Bool {
        let age = age(now)
        return age >= UInt64(lifetime) && age < end
    }

    func remaining(_ now: UInt64) -> (fresh: UInt64, stale: UInt64) {
        let age = age(now)
        return (
            UInt64(lifetime) - min(age, UInt64(lifetime)),
            end - min(max(age, UInt64(lifetime)), end)
        )
    }

    private static var never: UInt32 { 0x7FFF_FFFF }

    func wantsRefresh(age: UInt64) -> Bool { age >= UInt64(refreshAt) }

    mutating func noteRefresh() { refreshAt |= ~Self.never }

    func refreshIn(_ now: UInt64) -> UInt64? {
        guard refreshAt < Self.never, isFresh(now) else { return nil }
        return UInt64(refreshAt) - min(age(now), UInt64(refreshAt))
    }

    var refreshAfter: UInt32 {
        let age = refreshAt & Self.never
        return age == Self.never ? 0 : age
    }
}

// MARK: - Kind

extension EntryHeader {
    var isNegative: Bool { rcode == 3 || rcode == 0 && answerCount == 0 }

    /// True for a cached failure, such as SERVFAIL (RFC 8767 §5).
    var isFailure: Bool { rcode != 0 && rcode != 3 }

    private static var authentic: UInt8 { 0x80 }
    private static var offered: UInt8 { 0x40 }
    private static var offerable: UInt8 { 0x20 }

    var source: UInt8 { origin & 0x1F }

    var isVendors: Bool { source == AnswerSource.vendor.rawValue }

    /// True if the mirror can store a copy of the entry, and has none.
    var isOfferable: Bool {
        get { origin & (Self.offered | Self.offerable) == Self.offerable }
        set { origin = newValue ? origin | Self.offerable : origin & ~Self.offerable }
    }

    var isOffered: Bool {
        get { origin & Self.offered != 0 }
        set { origin = newValue ? origin | Self.offered : origin & ~Self.offered }
    }

    var isAuthentic: Bool { origin & Self.authentic != 0 }

    var flags: UInt16 { UInt16(origin & Self.authentic) >> 2 }

    /// Returns the cost of moving the entry to the head of the ring; nil if the entry must be
    /// evicted.
    func price(_ now: UInt64) -> Int? {
        guard demand.isNew else { return nil }
        if isFresh(now) { return 1 }
        return isStale(now) ? 4 : nil
    }
}

/// Count of hits on an entry, with flags.
struct Demand: Equatable {
    private var bits: UInt32 = 0

    private static var flags: UInt32 { 0xC000_0000 }

    var hits: UInt32 { bits & ~Self.flags }

    /// True if the entry had a hit since it was stored or last moved.
    var isNew: Bool { bits & 0x8000_0000 != 0 }

    /// True if the entry had a hit since it was stored.
    var isAgain: Bool { bits & 0x4000_0000 != 0 }

    init(hits: UInt32 = 0, isNew: Bool = false) {
        bits = min(hits, ~Self.flags) | (isNew ? 0x8000_0000 : 0)
    }

    /// The count wraps around after 2^30 hits.
    mutating func noteHit() { bits = (bits &+ 1) | Self.flags }

    mutating func noteHits(_ times: UInt64) {
        bits = (bits &+ UInt32(truncatingIfNeeded: times)) & ~Self.flags | Self.flags
    }

    mutating func noteSpared() { bits &= 0x7FFF_FFFF }
}
