// SPDX-License-Identifier: Apache-2.0
internal import CLinux

/// Finds entries by hash: buckets of eight slots, one cache line each.
///
/// Every hash has two buckets and its entry lies in either, so a look-up reads one line, at times
/// two, and never more, whatever an attacker makes us store.  A slot is 8 octets:
///
///     0: free
///     upper 32 bits: the hash's upper half, which sifts out nearly everything that is not it
///     lower 32 bits: the entry's reference divided by 8, at least 1
///
/// The number of buckets doubles as entries come (linear hashing): each insertion splits two
/// buckets, at most 66, so nobody ever waits for the whole index, and there is no copy of it.
///
///     buckets of the smaller index <= count <= mask + 1 = buckets of the larger one
///     slots of buckets from `count` on are 0
// SAFETY: the one block has `most * slotsPerBucket` slots, the only indices are those of
// `first(_:)` and `second(_:)`, which are below `count`, and the seven behind them, and only this
// type has its address.
@safe
struct BucketIndex: ~Copyable {
    private(set) var pages: Pages

    /// The block of `pages`.
    private let slots: UnsafeMutablePointer<UInt64>

    /// Buckets that there are now.
    private var count = Self.fewest

    /// A power of two, less one.
    private var mask = Self.fewest - 1

    /// Buckets that there can be, a power of two.
    private let most: Int

    /// Buckets from here on have no memory.
    private var touched = Self.fewest

    private static var slotsPerBucket: Int { 8 }

    /// Buckets at first: a page of them.
    private static var fewest: Int { Pages.size / bucketOctets }

    private static var bucketOctets: Int { slotsPerBucket * MemoryLayout<UInt64>.size }

    /// Buckets that one insertion splits.
    private static var splits: Int { 2 }

    /// Octets that are given back at once: some 50 us.
    private static var mostGivenBack: Int { 1 << 20 }

    /// Octets that the slots take.
    var octets: Int { count * Self.bucketOctets }

    /// Octets that the slots will take at most.
    var mostOctets: Int { most * Self.bucketOctets }

    /// Will make room for at least `entries` entries.
    init(entries: Int) {
        var buckets = Self.fewest
        while buckets * Self.slotsPerBucket < entries { buckets *= 2 }
        most = buckets
        pages = Pages(octets: buckets * Self.bucketOctets)
        // SAFETY: the pages are zero, and only ever used as this type.
        unsafe slots = pages.start.bindMemory(
            to: UInt64.self,
            capacity: buckets * Self.slotsPerBucket
        )
    }

    // MARK: - Reading

    /// A walk over the slots in which an entry with some hash can be.
    struct Probe {
        fileprivate let hash: UInt64
        fileprivate var slot: Int
        fileprivate var end: Int
        fileprivate var isSecond = false
    }

    /// Begins a walk over the slots of `hash`.
    ///
    /// It sees those of one bucket twice where both are the same.
    func probe(_ hash: UInt64) -> Probe {
        let first = first(hash)
        return Probe(hash: hash, slot: first, end: first + Self.slotsPerBucket)
    }

    /// The next reference that may belong to the hash, or nil when there are no more.
    func next(_ probe: inout Probe) -> Int? {
        while true {
            while probe.slot < probe.end {
                let value = unsafe slots[probe.slot]
                probe.slot += 1
                if value >> 32 == probe.hash >> 32, value != 0 { return Self.reference(value) }
            }
            if probe.isSecond { return nil }
            probe.isSecond = true
            probe.slot = second(probe.hash)
            probe.end = probe.slot + Self.slotsPerBucket
        }
    }

    /// Starts to bring near the bucket that `probe(hash)` looks into first.
    func prefetch(_ hash: UInt64) {
        // SAFETY: an address is named, not read.
        unsafe memory_prefetch(slots + first(hash))
    }

    // MARK: - Changing

    /// Puts a reference into a free slot of its two buckets.
    ///
    /// - Returns: false if neither has one; then somebody in `references(_:)` must go first.
    mutating func insert(_ reference: Int, hash: UInt64) -> Bool {
        let first = first(hash)
        let second = second(hash)
        // The emptier bucket takes it: two choices keep the fullest close to the average.
        let bucket = freeSlots(first) >= freeSlots(second) ? first : second
        for slot in bucket..<bucket + Self.slotsPerBucket where unsafe slots[slot] == 0 {
            unsafe slots[slot] = hash & 0xFFFF_FFFF_0000_0000 | UInt64(reference / 8)
            return true
        }
        return false
    }

    /// All entries that share the two buckets of `hash`.
    func references(_ hash: UInt64) -> [Int] {
        let first = first(hash)
        let second = second(hash)
        return (first == second ? [first] : [first, second]).flatMap { bucket in
            (bucket..<bucket + Self.slotsPerBucket).compactMap { slot in
                let value = unsafe slots[slot]
                return value == 0 ? nil : Self.reference(value)
            }
        }
    }

    /// Lets the entry at `old` be found at `new`.
    mutating func move(_ old: Int, to new: Int, hash: UInt64) {
        guard let slot = slot(of: old, hash) else { return }
        unsafe slots[slot] = slots[slot] & 0xFFFF_FFFF_0000_0000 | UInt64(new / 8)
    }

    /// Forgets the entry at `reference`.
    mutating func remove(_ reference: Int, hash: UInt64) {
        guard let slot = slot(of: reference, hash) else { return }
        unsafe slots[slot] = 0
    }

    // MARK: - Growing

    /// Makes room ahead for an index of `entries` entries, a little with each one.
    ///
    /// - Parameter ring: where the entries are.
    mutating func grow(for entries: Int, in ring: borrowing EntryRing) {
        // Above 70 % now and then two full buckets meet.  What was begun is ended soon: buckets
        // that are not split yet have twice the entries.
        let isWhole = count == mask + 1
        guard count < most, !isWhole || entries * 10 > count * Self.slotsPerBucket * 7 else {
            return
        }
        for _ in 0..<Self.splits where count < most { split(ring) }
        touched = max(touched, count)
    }

    /// Makes some room at once for an entry whose two buckets are full, if they may get emptier.
    ///
    /// In a small index many an entry has one bucket only, in a large one next to none.
    ///
    /// - Returns: false if the index has its full size.
    mutating func growMore(in ring: borrowing EntryRing) -> Bool {
        guard count < most else { return false }
        split(ring)
        touched = max(touched, count)
        return true
    }

    /// Adds a bucket, and moves there what is found there from now on.
    private mutating func split(_ ring: borrowing EntryRing) {
        if count > mask { mask = mask * 2 + 1 }
        let source = (count & mask >> 1) * Self.slotsPerBucket
        var target = count * Self.slotsPerBucket
        count += 1
        for slot in source..<source + Self.slotsPerBucket {
            let value = unsafe slots[slot]
            guard value != 0 else { continue }
            let hash = ring[Self.reference(value)].hash
            guard first(hash) != source, second(hash) != source else { continue }
            unsafe slots[target] = value
            unsafe slots[slot] = 0
            target += 1
        }
    }

    /// Becomes as small as at first; it has no entries.
    mutating func startAnew() {
        count = Self.fewest
        mask = Self.fewest - 1
    }

    /// Gives memory of buckets that there were back to the system.
    ///
    /// - Returns: whether there is more of it.
    mutating func giveBack() -> Bool {
        let keep = (count * Self.bucketOctets + Pages.size - 1) & -Pages.size
        let end = (touched * Self.bucketOctets + Pages.size - 1) & -Pages.size
        let start = max(keep, end - Self.mostGivenBack)
        pages.giveBack(start, end)
        touched = max(count, min(touched, start / Self.bucketOctets))
        return start > keep
    }

    // MARK: - Private

    private func slot(of reference: Int, _ hash: UInt64) -> Int? {
        var probe = probe(hash)
        while let found = next(&probe) {
            if found == reference { return probe.slot - 1 }
        }
        return nil
    }

    private func freeSlots(_ bucket: Int) -> Int {
        var free = 0
        for slot in bucket..<bucket + Self.slotsPerBucket where unsafe slots[slot] == 0 {
            free += 1
        }
        return free
    }

    /// The first slot of the bucket that an entry may lie in.
    private func first(_ hash: UInt64) -> Int { start(Int(truncatingIfNeeded: hash)) }

    /// The first slot of the other bucket that an entry may lie in; at times the same.
    private func second(_ hash: UInt64) -> Int {
        start(Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> 32))
    }

    /// The first slot of a bucket: one that is not there yet is still a part of another one.
    private func start(_ number: Int) -> Int {
        let bucket = number & mask
        return (bucket < count ? bucket : bucket & mask >> 1) &* Self.slotsPerBucket
    }

    private static func reference(_ slot: UInt64) -> Int { Int(slot & 0xFFFF_FFFF) * 8 }
}
