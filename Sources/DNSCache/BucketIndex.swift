// SPDX-License-Identifier: Apache-2.0
internal import CLinux

/// Hash index of buckets; a bucket is one cache line with eight slots of 8 octets.
///
/// An entry is in one of the two buckets of its hash.
///
///     0: free
///     upper 32 bits: upper half of the hash
///     lower 32 bits: reference of the entry (its place in the ring) divided by 8, at least 1
///
/// The index grows by linear hashing. Invariants:
///
///     (mask + 1) / 2 <= count <= mask + 1
///     slots of buckets from `count` on are 0
// SAFETY: the one block has `most * slotsPerBucket` slots. All indices are in the buckets of
// `first(_:)` and `second(_:)`, which are below bucket `count`, or in the bucket that a split adds,
// which is below bucket `most`. Only this type has the address.
@safe
struct BucketIndex: ~Copyable {
    private(set) var pages: Pages

    private let slots: UnsafeMutablePointer<UInt64>

    private var count = Self.fewest

    private var mask = Self.fewest - 1

    /// A power of two.
    private let most: Int

    /// Buckets from this index on use no memory.
    private var touched = Self.fewest

    private static var slotsPerBucket: Int { 8 }

    private static var fewest: Int { Pages.size / bucketOctets }

    private static var bucketOctets: Int { slotsPerBucket * MemoryLayout<UInt64>.size }

    private static var splits: Int { 2 }

    /// Maximum octets that one ``giveBack()`` releases; this takes about 50 µs.
    private static var mostGivenBack: Int { 1 << 20 }

    var octets: Int { count * Self.bucketOctets }

    var mostOctets: Int { most * Self.bucketOctets }

    init(entries: Int) {
        var buckets = Self.fewest
        while buckets * Self.slotsPerBucket < entries { buckets *= 2 }
        most = buckets
        pages = Pages(octets: buckets * Self.bucketOctets)
        // SAFETY: the pages are zero, and are used only as this type.
        unsafe slots = pages.start.bindMemory(
            to: UInt64.self,
            capacity: buckets * Self.slotsPerBucket
        )
    }

    // MARK: - Reading

    struct Probe {
        fileprivate let hash: UInt64
        fileprivate var slot: Int
        fileprivate var end: Int
        fileprivate var isSecond = false
    }

    func probe(_ hash: UInt64) -> Probe {
        let first = first(hash)
        return Probe(hash: hash, slot: first, end: first + Self.slotsPerBucket)
    }

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

    func prefetch(_ hash: UInt64) {
        // SAFETY: the address is not dereferenced.
        unsafe memory_prefetch(slots + first(hash))
    }

    // MARK: - Changing

    mutating func insert(_ reference: Int, hash: UInt64) -> Bool {
        let first = first(hash)
        let second = second(hash)
        let bucket = freeSlots(first) >= freeSlots(second) ? first : second
        for slot in bucket..<bucket + Self.slotsPerBucket where unsafe slots[slot] == 0 {
            unsafe slots[slot] = hash & 0xFFFF_FFFF_0000_0000 | UInt64(reference / 8)
            return true
        }
        return false
    }

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

    mutating func move(_ old: Int, to new: Int, hash: UInt64) {
        guard let slot = slot(of: old, hash) else { return }
        unsafe slots[slot] = slots[slot] & 0xFFFF_FFFF_0000_0000 | UInt64(new / 8)
    }

    mutating func remove(_ reference: Int, hash: UInt64) {
        guard let slot = slot(of: reference, hash) else { return }
        unsafe slots[slot] = 0
    }

    // MARK: - Growing

    mutating func grow(for entries: Int, in ring: borrowing EntryRing) {
        // Above 70 % load, both buckets of a hash may be full. A doubling must not stop, because
        // the buckets that are not yet split have twice the load.
        let isWhole = count == mask + 1
        guard count < most, !isWhole || entries * 10 > count * Self.slotsPerBucket * 7 else {
            return
        }
        for _ in 0..<Self.splits where count < most { split(ring) }
        touched = max(touched, count)
    }

    mutating func growMore(in ring: borrowing EntryRing) -> Bool {
        guard count < most else { return false }
        split(ring)
        touched = max(touched, count)
        return true
    }

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

    mutating func startAnew() {
        count = Self.fewest
        mask = Self.fewest - 1
    }

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

    private func first(_ hash: UInt64) -> Int { start(Int(truncatingIfNeeded: hash)) }

    private func second(_ hash: UInt64) -> Int {
        start(Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> 32))
    }

    /// Returns the first slot of bucket `number & mask`.
    ///
    /// If this bucket does not exist yet, returns the first slot of the bucket whose split will
    /// create it.
    private func start(_ number: Int) -> Int {
        let bucket = number & mask
        return (bucket < count ? bucket : bucket & mask >> 1) &* Self.slotsPerBucket
    }

    private static func reference(_ slot: UInt64) -> Int { Int(slot & 0xFFFF_FFFF) * 8 }
}
