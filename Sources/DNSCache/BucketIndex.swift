// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import Glibc

/// Finds entries by hash: buckets of eight slots, one cache line each.
///
/// Every hash has two buckets and its entry lies in either, so a look-up reads one line, at times
/// two, and never more, whatever an attacker makes us store.  A slot is 8 octets:
///
///     0: free
///     upper 32 bits: the hash's upper half, which sifts out nearly everything that is not it
///     lower 32 bits: the entry's reference divided by 8, at least 1
// SAFETY: the one block has `(mask + 1) * slotsPerBucket` slots, the only indices are those of
// `buckets(_:)` and the seven behind them, and only this type has its address.
@safe
struct BucketIndex: ~Copyable {
    private let slots: UnsafeMutablePointer<UInt64>

    /// The number of buckets, a power of two, less one.
    private let mask: Int

    private static var slotsPerBucket: Int { 8 }

    /// Octets that the slots take.
    var octets: Int { (mask + 1) * Self.slotsPerBucket * MemoryLayout<UInt64>.size }

    /// Makes room for at least `entries` entries.
    init(entries: Int) {
        var buckets = 16
        while buckets * Self.slotsPerBucket < entries { buckets *= 2 }
        mask = buckets - 1
        let count = buckets * Self.slotsPerBucket
        // calloc would give zero pages for nothing too, but not on the 64-octet boundary that makes
        // a bucket one cache line.
        let block = unsafe mmap(
            nil,
            count * 8,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )
        guard let block = unsafe block, unsafe block != MAP_FAILED else {
            preconditionFailure("no memory for an index of \(count) slots")
        }
        // SAFETY: the kernel gave the block zeroed, and it is only ever used as this type.
        unsafe slots = block.bindMemory(to: UInt64.self, capacity: count)
    }

    deinit {
        // SAFETY: the index is the block's only owner, and this is its end.
        unsafe munmap(slots, octets)
    }

    // MARK: - Reading

    /// A walk over the slots in which an entry with some hash can be.
    struct Probe {
        fileprivate let tag: UInt64
        fileprivate var slot: Int
        fileprivate var end: Int
        fileprivate let secondBucket: Int
    }

    /// Begins a walk over the slots of `hash`.
    func probe(_ hash: UInt64) -> Probe {
        let (first, second) = buckets(hash)
        return Probe(
            tag: hash >> 32,
            slot: first,
            end: first + Self.slotsPerBucket,
            secondBucket: second
        )
    }

    /// The next reference that may belong to the hash, or nil when there are no more.
    func next(_ probe: inout Probe) -> Int? {
        while true {
            while probe.slot < probe.end {
                let value = unsafe slots[probe.slot]
                probe.slot += 1
                if value >> 32 == probe.tag, value != 0 { return Self.reference(value) }
            }
            let end = probe.secondBucket + Self.slotsPerBucket
            if probe.end == end { return nil }
            probe.slot = probe.secondBucket
            probe.end = end
        }
    }

    /// Starts to bring near the bucket that `probe(hash)` looks into first.
    func prefetch(_ hash: UInt64) {
        // SAFETY: an address is named, not read.
        unsafe memory_prefetch(slots + buckets(hash).0)
    }

    // MARK: - Changing

    /// Puts a reference into a free slot of its two buckets.
    ///
    /// - Returns: false if neither has one; then somebody in `references(_:)` must go first.
    mutating func insert(_ reference: Int, hash: UInt64) -> Bool {
        let (first, second) = buckets(hash)
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
        let (first, second) = buckets(hash)
        return [first, second].flatMap { bucket in
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

    /// The first slots of the two buckets, which differ, as one bucket would be no choice.
    private func buckets(_ hash: UInt64) -> (Int, Int) {
        let first = Int(truncatingIfNeeded: hash) & mask
        let second = Int(truncatingIfNeeded: (hash &* 0x9E37_79B9_7F4A_7C15) >> 32) & mask
        return (
            first * Self.slotsPerBucket,
            (second == first ? first ^ 1 : second) * Self.slotsPerBucket
        )
    }

    private static func reference(_ slot: UInt64) -> Int { Int(slot & 0xFFFF_FFFF) * 8 }
}
