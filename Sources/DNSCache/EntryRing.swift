// SPDX-License-Identifier: Apache-2.0
internal import CLinux
internal import DNSWire
internal import Glibc

/// One block of memory that holds cached answers one behind the other, oldest first.
///
/// Positions count up for ever and are mapped into the block modulo its capacity, so "older" is
/// "smaller" and the room that is left is a subtraction:
///
///     tail <= head <= tail + capacity, all three multiples of 8
///     tail ..< head: entries, each `EntryHeader.length` octets long, none across the block's end
///     (a filler, itself an entry that nobody refers to, bridges what is left there)
///     position % capacity + 8: the `reference` under which the index knows an entry
///
/// Memory comes from the system page by page as entries reach it: an empty cache of any size costs
/// next to nothing.
// SAFETY: the one block has `capacity` octets, aligned for an `EntryHeader`; references come from
// `append` and `reference(at:)` and so name an entry, which never crosses the block's end.
@safe
struct EntryRing: ~Copyable {
    private(set) var pages: Pages

    /// The block of `pages`.
    private let base: UnsafeMutableRawPointer

    /// Octets of the block, a multiple of a page.
    let capacity: Int

    /// Where the oldest entry begins.
    private(set) var tail = 0

    /// Where the next entry will begin.
    private(set) var head = 0

    /// Octets between the two: live entries, dead ones and fillers.
    var usedOctets: Int { head - tail }

    /// Takes a block of `capacity` octets, rounded down to whole pages.
    ///
    /// Traps if the system has no address space for it.
    init(capacity: Int) {
        self.capacity = capacity & -Pages.size
        pages = Pages(octets: self.capacity)
        unsafe base = pages.start
    }

    // MARK: - Reading

    /// The reference of the entry at `position`, which lies in `tail ..< head`.
    func reference(at position: Int) -> Int {
        position % capacity + 8
    }

    /// The header of the entry at `reference`.
    subscript(reference: Int) -> EntryHeader {
        get { unsafe header(reference).pointee }
        nonmutating set { unsafe header(reference).pointee = newValue }
    }

    /// Octets from the oldest entry to the one at `reference`: the smaller, the sooner it goes.
    func distanceFromTail(_ reference: Int) -> Int {
        (reference - 8 - tail % capacity + capacity) % capacity
    }

    /// Counts an answer made from the entry at `reference`, and returns its header from before.
    func noteHit(_ reference: Int) -> EntryHeader {
        // SAFETY: as for `header`.
        let header = unsafe header(reference)
        let before = unsafe header.pointee
        unsafe header.pointee.demand.noteHit()
        return before
    }

    /// Octets of the entry at `reference`; the only thing that is known of a filler, too.
    func length(_ reference: Int) -> Int {
        // SAFETY: as for `header`; the length is the first field.
        unsafe Int(UnsafeRawPointer(header(reference)).load(as: UInt32.self))
    }

    /// Whether the index refers to the entry at `reference`.
    func isLive(_ reference: Int) -> Bool {
        // SAFETY: as for `header`; fillers have this field too.
        unsafe UnsafeRawPointer(header(reference)).load(fromByteOffset: 4, as: Bool.self)
    }

    /// Lets `body` read the parts that follow the header of the entry at `reference`.
    func withParts<Result>(
        _ reference: Int,
        _ body: (
            _ name: RawSpan,
            _ ttlOffsets: RawSpan,
            _ sections: RawSpan,
            _ options: RawSpan
        ) -> Result
    ) -> Result {
        // SAFETY: an entry has as many octets of each part as its header says, and the ring, which
        // only `append` writes to, is borrowed while the spans are in use.
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

    /// Lets `body` change the sections of the entry at `reference`, but not their length.
    mutating func withMutableSections(_ reference: Int, _ body: (inout MutableRawSpan) -> Void) {
        // SAFETY: as for `withParts`; the ring is nobody else's while this runs.
        let entry = self[reference]
        let start = unsafe base + (reference - 8) + entry.sectionOffset
        var sections = unsafe MutableRawSpan(
            _unsafeStart: start,
            byteCount: Int(entry.sectionCount)
        )
        body(&sections)
    }

    /// Starts to bring near the entry at `reference`, as far as most entries go.
    func prefetch(_ reference: Int) {
        // SAFETY: addresses are named, not read.
        let start = unsafe UnsafeRawPointer(base) + (reference - 8)
        unsafe memory_prefetch(start)
        unsafe memory_prefetch(start + 64)
    }

    private func header(_ reference: Int) -> UnsafeMutablePointer<EntryHeader> {
        // SAFETY: references come from `append` or `reference(at:)`, so a header lies there; the
        // block is aligned for it and every entry's length is a multiple of 8.
        unsafe (base + (reference - 8)).assumingMemoryBound(to: EntryHeader.self)
    }

    // MARK: - Changing

    /// Whether an entry of `length` octets fits in without giving one up.
    func hasRoom(for length: Int) -> Bool {
        head + bridge(for: length) + length - tail <= capacity
    }

    /// Makes an entry of these parts and returns its reference.
    ///
    /// The caller has made room for `header.length` octets, which is what the parts need.
    mutating func append(
        _ header: EntryHeader,
        name: [UInt8],
        ttlOffsets: [UInt16],
        sections: [UInt8],
        options: ArraySlice<UInt8>
    ) -> Int {
        let length = Int(header.length)
        precondition(hasRoom(for: length) && header.neededOctets <= length, "room was made")
        passOver(bridge(for: length))
        let reference = reference(at: head)
        head += length
        self[reference] = header
        // SAFETY: the parts have the counts that the header's offsets are computed from, and the
        // precondition says that they fit.
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

    /// Gives up the oldest entry.
    mutating func removeOldest() {
        tail += length(reference(at: tail))
    }

    /// Octets that are given back at once: some 50 us.
    private static var mostGivenBack: Int { 1 << 20 }

    /// Gives up dead entries before the oldest live one, at most `count` of them, and their pages.
    ///
    /// - Returns: whether there may be more of them.
    mutating func giveBackDead(atMost count: Int) -> Bool {
        let from = tail
        var left = count
        while tail < head, !isLive(reference(at: tail)) {
            guard left > 0, tail - from < Self.mostGivenBack else { break }
            left -= 1
            removeOldest()
        }
        // In the first page there may be something newer, if `head` has come round to it.
        let offset = from % capacity
        var start = offset & -Pages.size
        if from - (offset - start) < head - capacity { start += Pages.size }
        let end = offset + tail - from
        pages.giveBack(start, min(end, capacity) & -Pages.size)
        if end > capacity { pages.giveBack(0, (end - capacity) & -Pages.size) }
        return tail > from && tail < head && !isLive(reference(at: tail))
    }

    /// Moves the oldest entry to the newest place and returns its new reference.
    ///
    /// There always is room: an entry that would cross the block's end has nothing of the ring
    /// between `head` and that end, or it would lie there itself and not cross it.
    mutating func renewOldest() -> Int {
        let old = reference(at: tail)
        let length = length(old)
        passOver(bridge(for: length))
        tail += length
        let new = reference(at: head)
        // SAFETY: what `tail` has just freed makes the target's octets free; they may overlap the
        // source's, which memmove allows.
        unsafe memmove(base + (new - 8), base + (old - 8), length)
        head += length
        return new
    }

    /// Fills the `count` octets up to the block's end, which are free, so that they count as one
    /// dead entry.
    private mutating func passOver(_ count: Int) {
        guard count > 0 else { return }
        // SAFETY: a filler is at least 8 octets long, and has only the two fields that its first 5
        // octets hold.
        let filler = unsafe UnsafeMutableRawPointer(header(reference(at: head)))
        unsafe filler.storeBytes(of: UInt32(count), as: UInt32.self)
        unsafe filler.storeBytes(of: false, toByteOffset: 4, as: Bool.self)
        head += count
    }

    /// Octets to pass over so that an entry of `length` does not cross the block's end.
    private func bridge(for length: Int) -> Int {
        let rest = capacity - head % capacity
        return rest < length ? rest : 0
    }
}
