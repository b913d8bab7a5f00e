// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Header of an entry; name, TTL offsets, sections and EDNS options follow.
///
///     stored                age = lifetime           age = lifetime + staleWindow
///       |--------- fresh --------|-------- stale --------|---- useless, reclaimed when oldest
///                     ^ refreshAt
struct EntryHeader {
    /// In octets, a multiple of 8; a filler has only the first two fields.
    var length: UInt32

    /// True if the index refers to the entry.
    var isLive: Bool
    var variant: UInt8
    var rcode: UInt8

    /// Source and flags.
    private var origin: UInt8

    var hash: UInt64

    /// Milliseconds since the origin; negative for an earlier process.
    var storedAt: Int64

    /// Seconds.
    var lifetime: UInt32

    var demand: Demand

    /// Seconds after the lifetime.
    var staleWindow: UInt32

    /// Age in seconds; the top bit is set after the request.
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

    init(_ answer: CachedAnswer, hash: UInt64, storedAt: Int64) {
        let sections = answer.sections
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
        answerCount = sections.answerCount
        authorityCount = sections.authorityCount
        additionalCount = sections.additionalCount
        ttlCount = UInt16(sections.ttlOffsets.count)
        sectionCount = UInt16(sections.octets.count)
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

    /// Aligned to 2 octets.
    var ttlOffset: Int { Self.nameOffset + (Int(nameCount) + 1) & ~1 }

    var sectionOffset: Int { ttlOffset + 2 * Int(ttlCount) }

    var optionOffset: Int { sectionOffset + Int(sectionCount) }

    var neededOctets: Int { optionOffset + Int(optionCount) }
}

// MARK: - Time

extension EntryHeader {
    /// In seconds.
    func age(_ now: UInt64) -> UInt64 { passed(now) / 1000 }

    /// In milliseconds.
    private func passed(_ now: UInt64) -> UInt64 {
        UInt64(max(0, Int64(bitPattern: now) &- storedAt))
    }

    /// Avoids the division of `age(_:)`.
    func isFresh(_ now: UInt64) -> Bool { passed(now) < 1000 &* UInt64(lifetime) }

    /// End of stale use, as an age in seconds.
    private var end: UInt64 { UInt64(lifetime) + UInt64(staleWindow) }

    /// RFC 8767.
    func isStale(_ now: UInt64) -> Bool {
        let age = age(now)
        return age >= UInt64(lifetime) && age < end
    }

    /// In seconds.
    func remaining(_ now: UInt64) -> (fresh: UInt64, stale: UInt64) {
        let age = age(now)
        return (
            UInt64(lifetime) - min(age, UInt64(lifetime)),
            end - min(max(age, UInt64(lifetime)), end)
        )
    }

    /// An unreachable age: 68 years.
    private static var never: UInt32 { 0x7FFF_FFFF }

    /// First hit past the refresh age; call this before the hit.
    func wantsRefresh(age: UInt64) -> Bool { age >= UInt64(refreshAt) }

    mutating func noteRefresh() { refreshAt |= ~Self.never }

    /// In seconds; nil for never.
    func refreshIn(_ now: UInt64) -> UInt64? {
        guard refreshAt < Self.never, isFresh(now) else { return nil }
        return UInt64(refreshAt) - min(age(now), UInt64(refreshAt))
    }

    /// In seconds; 0 for never.
    var refreshAfter: UInt32 {
        let age = refreshAt & Self.never
        return age == Self.never ? 0 : age
    }
}

// MARK: - Kind

extension EntryHeader {
    /// NXDOMAIN or NODATA (RFC 2308).
    var isNegative: Bool { rcode == 3 || rcode == 0 && answerCount == 0 }

    /// A cached failure (RFC 8767 §5).
    var isFailure: Bool { rcode != 0 && rcode != 3 }

    /// Flags of `origin`.
    private static var authentic: UInt8 { 0x80 }
    private static var offered: UInt8 { 0x40 }
    private static var offerable: UInt8 { 0x20 }

    var source: UInt8 { origin & 0x1F }

    /// The entry may be copied to a mirror.
    var isOfferable: Bool {
        get { origin & (Self.offered | Self.offerable) == Self.offerable }
        set { origin = newValue ? origin | Self.offerable : origin & ~Self.offerable }
    }

    /// A mirror has a copy.
    var isOffered: Bool {
        get { origin & Self.offered != 0 }
        set { origin = newValue ? origin | Self.offered : origin & ~Self.offered }
    }

    var isAuthentic: Bool { origin & Self.authentic != 0 }

    /// AD, without a branch.
    var flags: UInt16 { UInt16(origin & Self.authentic) >> 2 }

    /// Price of sparing this entry, from the budget of an insertion; nil if it must be evicted.
    ///
    /// A stale entry has a higher price, so stale entries are evicted first.
    func price(_ now: UInt64) -> Int? {
        guard demand.isNew else { return nil }
        if isFresh(now) { return 1 }
        return isStale(now) ? 4 : nil
    }
}

struct Demand: Equatable {
    /// Bit 31: hit since stored or last spared from eviction.
    ///
    /// Bit 30: hit since stored. Others: hits.
    private var bits: UInt32 = 0

    private static var flags: UInt32 { 0xC000_0000 }

    var hits: UInt32 { bits & ~Self.flags }

    /// Bit 31.
    var isNew: Bool { bits & 0x8000_0000 != 0 }

    /// Bit 30.
    var isAgain: Bool { bits & 0x4000_0000 != 0 }

    init(hits: UInt32 = 0, isNew: Bool = false) {
        bits = min(hits, ~Self.flags) | (isNew ? 0x8000_0000 : 0)
    }

    /// Wraps after 2^30 hits.
    mutating func noteHit() { bits = (bits &+ 1) | Self.flags }

    mutating func noteHits(_ times: UInt64) {
        bits = (bits &+ UInt32(truncatingIfNeeded: times)) & ~Self.flags | Self.flags
    }

    mutating func noteSpared() { bits &= 0x7FFF_FFFF }
}
