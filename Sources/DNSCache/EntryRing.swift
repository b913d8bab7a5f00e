// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import DNSWire
internal import Glibc

/// Ring buffer of entries in insertion order.
///
/// Positions increase without limit:
///
///     tail <= head <= tail + capacity, all three multiples of 8
///     tail ..< head: entries of `EntryHeader.length` octets
///     position % capacity + 8: the `reference` of an entry in the index
///
/// No entry crosses the end of the block; a dead entry without content (the filler) precedes the
/// end.
// SAFETY: the one block has `capacity` octets, aligned for an `EntryHeader`. References come from
// `append` and `reference(at:)`, so each refers to an entry, and no entry crosses the block's end.
@safe
struct EntryRing: ~Copyable {
    private(set) var pages: Pages

    private let base: UnsafeMutableRawPointer

    /// Octets, a multiple of the page size.
    let capacity: Int

    private(set) var tail = 0

    private(set) var head = 0

    init(capacity: Int) {
        self.capacity = capacity & -Pages.size
        pages = Pages(octets: self.capacity)
        unsafe base = pages.start
    }

    // MARK: - Reading

    func reference(at position: Int) -> Int {
        position % capacity + 8
    }

    subscript(reference: Int) -> EntryHeader {
        get { unsafe header(reference).pointee }
        nonmutating set { unsafe header(reference).pointee = newValue }
    }

    func distanceFromTail(_ reference: Int) -> Int {
        (reference - 8 - tail % capacity + capacity) % capacity
    }

    /// Returns the header as it was before this hit was counted.
    func noteHit(_ reference: Int) -> EntryHeader {
        // SAFETY: `header(_:)` returns the address of a valid header.
        let header = unsafe header(reference)
        let before = unsafe header.pointee
        unsafe header.pointee.demand.noteHit()
        return before
    }

    func length(_ reference: Int) -> Int {
        // SAFETY: `header(_:)` returns the address of a valid header, which begins with the length.
        unsafe Int(UnsafeRawPointer(header(reference)).load(as: UInt32.self))
    }

    func isLive(_ reference: Int) -> Bool {
        // SAFETY: `header(_:)` returns the address of a valid header or of a filler; both have this
        // field.
        unsafe UnsafeRawPointer(header(reference)).load(fromByteOffset: 4, as: Bool.self)
    }

    func withParts<Result>(
        _ reference: Int,
        _ body: (
            _ name: RawSpan,
            _ ttlOffsets: RawSpan,
            _ sections: RawSpan,
            _ options: RawSpan
        ) -> Result
    ) -> Result {
        // SAFETY: an entry has as many octets of each part as its header says. The ring is borrowed
        // while the spans are in use, and only mutating methods change the parts.
        let entry = self[reference]
        let start = unsafe base + (reference - 8)
        return body(
            unsafe RawSpan(
                _unsafeStart: start + EntryHeader.nameOffset,
                byteCount: Int(entry.nameCount)
            ),
            unsafe RawSpan(
                _unsafeStart: start + entry.ttlOffset,
                byteCount: 2 * Int(entry.ttlCount)
            ),
            unsafe RawSpan(
                _unsafeStart: start + entry.sectionOffset,
                byteCount: Int(entry.sectionCount)
            ),
            unsafe RawSpan(
                _unsafeStart: start + entry.optionOffset,
                byteCount: Int(entry.optionCount)
            )
        )
    }

    mutating func withMutableSections(_ reference: Int, _ body: (inout MutableRawSpan) -> Void) {
        // SAFETY: an entry has as many octets of sections as its header says. The function is
        // mutating, so that the access to the ring is exclusive.
        let entry = self[reference]
        let start = unsafe base + (reference - 8) + entry.sectionOffset
        var sections = unsafe MutableRawSpan(
            _unsafeStart: start,
            byteCount: Int(entry.sectionCount)
        )
        body(&sections)
    }

    func prefetch(_ reference: Int) {
        // SAFETY: the addresses are not dereferenced.
        let start = unsafe UnsafeRawPointer(base) + (reference - 8)
        unsafe memory_prefetch(start)
        unsafe memory_prefetch(start + 64)
    }

    private func header(_ reference: Int) -> UnsafeMutablePointer<EntryHeader> {
        // SAFETY: references come from `append` or `reference(at:)`, so an aligned header is at
        // this address: the length of every entry is a multiple of 8.
        unsafe (base + (reference - 8)).assumingMemoryBound(to: EntryHeader.self)
    }

    // MARK: - Changing

    func hasRoom(for length: Int) -> Bool {
        head + bridge(for: length) + length - tail <= capacity
    }

    /// Appends an entry, for which ``hasRoom(for:)`` must be true.
    mutating func append(
        _ header: EntryHeader,
        name: [UInt8],
        ttlOffsets: RawSpan,
        sections: [UInt8],
        options: ArraySlice<UInt8>
    ) -> Int {
        let length = Int(header.length)
        precondition(hasRoom(for: length) && header.neededOctets <= length, "no space for entry")
        passOver(bridge(for: length))
        let reference = reference(at: head)
        head += length
        self[reference] = header
        // SAFETY: the offsets of the header are computed from the sizes of the parts, and the
        // precondition ensures that the parts fit.
        let start = unsafe base + (reference - 8)
        unsafe name.withUnsafeBytes { part in
            unsafe copy(part, to: start + EntryHeader.nameOffset)
        }
        unsafe ttlOffsets.withUnsafeBytes { part in
            unsafe copy(part, to: start + header.ttlOffset)
        }
        unsafe sections.withUnsafeBytes { part in
            unsafe copy(part, to: start + header.sectionOffset)
        }
        unsafe options.withUnsafeBytes { part in
            unsafe copy(part, to: start + header.optionOffset)
        }
        return reference
    }

    private func copy(_ part: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) {
        guard let source = part.baseAddress else { return }
        unsafe target.copyMemory(from: source, byteCount: part.count)
    }

    mutating func removeOldest() {
        tail += length(reference(at: tail))
    }

    /// Maximum octets that one ``giveBackDead(atMost:)`` releases; this takes about 50 µs.
    private static var mostGivenBack: Int { 1 << 20 }

    /// Returns true if dead entries remain at the tail.
    mutating func giveBackDead(atMost count: Int) -> Bool {
        let from = tail
        var left = count
        while tail < head, !isLive(reference(at: tail)) {
            guard left > 0, tail - from < Self.mostGivenBack else { break }
            left -= 1
            removeOldest()
        }
        // If the head has wrapped around, the first page of the range can also contain newer
        // entries, and is then not released.
        let offset = from % capacity
        var start = offset & -Pages.size
        if from - (offset - start) < head - capacity { start += Pages.size }
        let end = offset + tail - from
        pages.giveBack(start, min(end, capacity) & -Pages.size)
        if end > capacity { pages.giveBack(0, (end - capacity) & -Pages.size) }
        return tail > from && tail < head && !isLive(reference(at: tail))
    }

    /// Moves the oldest entry to the head and returns its new reference.
    ///
    /// The ring always has space, because the former place of the entry becomes free.
    mutating func renewOldest() -> Int {
        let old = reference(at: tail)
        let length = length(old)
        passOver(bridge(for: length))
        tail += length
        let new = reference(at: head)
        // SAFETY: advancing `tail` has freed the target octets; they may overlap the source, which
        // memmove allows.
        unsafe memmove(base + (new - 8), base + (old - 8), length)
        head += length
        return new
    }

    private mutating func passOver(_ count: Int) {
        guard count > 0 else { return }
        // SAFETY: a filler has at least 8 octets; its only two fields are in the first 5 octets.
        let filler = unsafe UnsafeMutableRawPointer(header(reference(at: head)))
        unsafe filler.storeBytes(of: UInt32(count), as: UInt32.self)
        unsafe filler.storeBytes(of: false, toByteOffset: 4, as: Bool.self)
        head += count
    }

    private func bridge(for length: Int) -> Int {
        let rest = capacity - head % capacity
        return rest < length ? rest : 0
    }
}
