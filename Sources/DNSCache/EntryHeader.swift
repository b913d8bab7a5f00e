// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// What is known of an entry; name, TTL offsets, sections and EDNS options follow it in the ring.
///
///     stored                age = lifetime           age = lifetime + staleWindow
///       |--------- fresh --------|-------- stale --------|---- gone, reclaimed when oldest
///                     ^ refreshAt
struct EntryHeader {
    /// Octets of the whole entry, a multiple of 8; first, because fillers have nothing else.
    var length: UInt32

    /// Whether the index refers to it; second, for the same reason.
    var isLive: Bool
    var variant: UInt8
    var rcode: UInt8

    /// The source; with bits for whether the records were validated, and about its copy.
    private var origin: UInt8

    var hash: UInt64

    /// Milliseconds since the cache's origin; negative for what was stored in an earlier life.
    var storedAt: Int64

    /// Seconds from then on in which it may be answered.
    var lifetime: UInt32

    /// Who asked for it.
    var demand: Demand

    /// Seconds from the end of its lifetime on in which it is better than no answer.
    var staleWindow: UInt32

    /// The age in seconds from which a hit requests a refresh; the top bit is set once one did.
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

    /// The header of an entry for `answer`, which was right at `storedAt`.
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
    /// Where the name begins within the entry.
    static var nameOffset: Int { MemoryLayout<EntryHeader>.size }

    /// Where the TTL offsets begin: behind the name, on an even octet.
    var ttlOffset: Int { Self.nameOffset + (Int(nameCount) + 1) & ~1 }

    /// Where the sections begin.
    var sectionOffset: Int { ttlOffset + 2 * Int(ttlCount) }

    /// Where the EDNS options begin.
    var optionOffset: Int { sectionOffset + Int(sectionCount) }

    /// Octets of header and parts.
    var neededOctets: Int { optionOffset + Int(optionCount) }
}

// MARK: - Time

extension EntryHeader {
    /// The seconds for which it has been stored at `now`.
    func age(_ now: UInt64) -> UInt64 { passed(now) / 1000 }

    /// The milliseconds for which it has been stored at `now`.
    private func passed(_ now: UInt64) -> UInt64 {
        UInt64(max(0, Int64(bitPattern: now) &- storedAt))
    }

    /// Whether it may still be answered at `now`: whether its age is less than its lifetime, without
    /// the division that an age costs.
    func isFresh(_ now: UInt64) -> Bool { passed(now) < 1000 &* UInt64(lifetime) }

    /// The age at which it is of no more use.
    private var end: UInt64 { UInt64(lifetime) + UInt64(staleWindow) }

    /// Whether it is a last resort at `now` for when no better answer is to be had (RFC 8767).
    func isStale(_ now: UInt64) -> Bool {
        let age = age(now)
        return age >= UInt64(lifetime) && age < end
    }

    /// Seconds for which it may still be answered, and after that be given as stale.
    func remaining(_ now: UInt64) -> (fresh: UInt64, stale: UInt64) {
        let age = age(now)
        return (
            UInt64(lifetime) - min(age, UInt64(lifetime)),
            end - min(max(age, UInt64(lifetime)), end)
        )
    }

    /// An age that is not reached: 68 years.
    private static var never: UInt32 { 0x7FFF_FFFF }

    /// Whether a hit at `age`, with the header as it was before, requests a refresh: the entry is old
    /// enough, and no hit has requested one yet.
    func wantsRefresh(age: UInt64) -> Bool { age >= UInt64(refreshAt) }

    /// Notes that a refresh was asked for.
    mutating func noteRefresh() { refreshAt |= ~Self.never }

    /// Seconds until a hit asks for a refresh; nil if none ever will, or one has.
    func refreshIn(_ now: UInt64) -> UInt64? {
        guard refreshAt < Self.never, isFresh(now) else { return nil }
        return UInt64(refreshAt) - min(age(now), UInt64(refreshAt))
    }

    /// The seconds of age that it was stored with as the right time for a refresh; 0 is never.
    var refreshAfter: UInt32 {
        let age = refreshAt & Self.never
        return age == Self.never ? 0 : age
    }
}

// MARK: - Kind

extension EntryHeader {
    /// Whether it says that the name, or the type of it, does not exist (RFC 2308).
    var isNegative: Bool { rcode == 3 || rcode == 0 && answerCount == 0 }

    /// Whether it only says that no answer was to be had (RFC 8767 §5: other RCODEs than these two
    /// refresh nothing).
    var isFailure: Bool { rcode != 0 && rcode != 3 }

    /// Bits of `origin`; the others are the source.
    private static var authentic: UInt8 { 0x80 }
    private static var offered: UInt8 { 0x40 }
    private static var offerable: UInt8 { 0x20 }

    /// Where it came from.
    var source: UInt8 { origin & 0x1F }

    /// Whether a mirror may have a copy, and has none.
    var isOfferable: Bool {
        get { origin & (Self.offered | Self.offerable) == Self.offerable }
        set { origin = newValue ? origin | Self.offerable : origin & ~Self.offerable }
    }

    /// Whether a mirror has a copy.
    var isOffered: Bool {
        get { origin & Self.offered != 0 }
        set { origin = newValue ? origin | Self.offered : origin & ~Self.offered }
    }

    /// Whether its records were validated.
    var isAuthentic: Bool { origin & Self.authentic != 0 }

    /// The same as a reply's header has it: AD, moved to its place without a branch.
    var flags: UInt16 { UInt16(origin & Self.authentic) >> 2 }

    /// What sparing it costs of the spares that an insertion has; nil if it is not to be spared.
    ///
    /// Spared is what was asked for since it last was; a stale entry costs more than a fresh one, so
    /// that in a cache full of such entries the stale ones go first.
    func price(_ now: UInt64) -> Int? {
        guard demand.isNew else { return nil }
        if isFresh(now) { return 1 }
        return isStale(now) ? 4 : nil
    }
}

/// How often an entry was asked for.
struct Demand: Equatable {
    /// 31: since it was stored or last spared; 30: since it was stored; below: how often.
    private var bits: UInt32 = 0

    private static var flags: UInt32 { 0xC000_0000 }

    /// Answers made from the entry; each new answer halves what those before it had.
    var hits: UInt32 { bits & ~Self.flags }

    /// Whether it was asked for since it was stored or last spared from eviction.
    var isNew: Bool { bits & 0x8000_0000 != 0 }

    /// Whether it was asked for since it was stored.
    var isAgain: Bool { bits & 0x4000_0000 != 0 }

    /// No demand yet, but `hits` from an earlier answer.
    init(hits: UInt32 = 0, isNew: Bool = false) {
        bits = min(hits, ~Self.flags) | (isNew ? 0x8000_0000 : 0)
    }

    /// Counts one more; after a thousand million the count starts anew.
    mutating func noteHit() { bits = (bits &+ 1) | Self.flags }

    /// Counts several more.
    mutating func noteHits(_ times: UInt64) {
        bits = (bits &+ UInt32(truncatingIfNeeded: times)) & ~Self.flags | Self.flags
    }

    /// Notes that it was spared.
    mutating func noteSpared() { bits &= 0x7FFF_FFFF }
}
