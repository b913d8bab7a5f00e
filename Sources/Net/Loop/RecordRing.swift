// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// The last records that one thread wrote, for others to read while it goes on writing.
///
/// The writer never waits, takes no lock and knows no reader; it costs a store a word and two a run
/// of records.  A reader copies what it wants and then looks whether the writer has come round
/// meanwhile: what it may have written over is not given out, and counted as lost.  All words are
/// atomic and relaxed, which costs nothing here and makes a torn record a wrong one, not a fault.
///
///     published - capacity <= records that are whole < published <= reserved
///
/// Memory is touched as it is used: a ring that nobody writes to costs no page.
// SAFETY: every word is atomic; the indices are taken modulo the ring's size.
@safe
package final class RecordRing: Sendable {
    /// Words of a record: 256 octets, four cache lines.
    package static let wordCount = 32

    /// Octets of text that a record has room for, behind its five numbers.
    package static let textOctets = (wordCount - 5) * 8

    /// Records that are kept.
    package static let capacity = 4096

    // SAFETY: allocated by `init`, freed by `deinit`, and never changed in between.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>

    /// How many records have been begun, and how many are whole.
    private let reserved = Atomic<UInt64>(0)
    private let published = Atomic<UInt64>(0)

    package init() {
        // Not initialised, so not touched: 0 to `published` is what anybody reads.
        unsafe words = .allocate(capacity: Self.capacity * Self.wordCount)
    }

    deinit { unsafe words.deallocate() }

    // MARK: - Writing

    /// Says that up to `count` records are about to be written.
    ///
    /// For the writer's thread only, as all of this part.
    package func begin(_ count: Int) {
        let start = published.load(ordering: .relaxed)
        reserved.store(start + UInt64(count), ordering: .relaxed)
        // No word may be seen before it is known that it may change.
        atomicMemoryFence(ordering: .releasing)
    }

    /// Writes the record `offset` after the last one that is whole.
    ///
    /// All of it in one call, as those of another module are not inlined: a word at a time took
    /// three times as many instructions.
    ///
    /// - Parameter text: its first `textOctets` octets are kept, eight to a word, the first lowest.
    package func write(
        _ numbers: (UInt64, UInt64, UInt64, UInt64, UInt64),
        _ text: RawSpan,
        ofNext offset: Int
    ) {
        let place = Self.place(published.load(ordering: .relaxed) &+ UInt64(offset))
        let count = min(text.byteCount, Self.textOctets)
        // SAFETY: the words of a record lie within the ring, and eight octets at a time are read
        // only where there are so many.
        unsafe words[place].store(numbers.0, ordering: .relaxed)
        unsafe words[place + 1].store(numbers.1, ordering: .relaxed)
        unsafe words[place + 2].store(numbers.2, ordering: .relaxed)
        unsafe words[place + 3].store(numbers.3, ordering: .relaxed)
        unsafe words[place + 4].store(numbers.4, ordering: .relaxed)
        var (word, octet) = (place + 5, 0)
        while octet + 8 <= count {
            let octets = unsafe text.unsafeLoadUnaligned(fromByteOffset: octet, as: UInt64.self)
            unsafe words[word].store(octets, ordering: .relaxed)
            (word, octet) = (word + 1, octet + 8)
        }
        guard octet < count else { return }
        let rest = Self.octets(octet..<count, of: text)
        unsafe words[word].store(rest, ordering: .relaxed)
    }

    /// Fewer than eight octets in a word, the rest of it zero.
    private static func octets(_ range: Range<Int>, of text: RawSpan) -> UInt64 {
        // One load that ends where they do, if there is enough before them.
        guard range.upperBound < 8 else {
            let start = range.upperBound - 8
            // SAFETY: within the text, as it is not shorter than the range's end.
            let last = unsafe text.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self)
            return last >> UInt64(8 * (8 - range.count))
        }
        var word: UInt64 = 0
        for octet in range.reversed() {
            // SAFETY: as above.
            word = word << 8 | UInt64(unsafe text.unsafeLoad(fromByteOffset: octet, as: UInt8.self))
        }
        return word
    }

    /// Says that so many records are whole now.
    package func end(_ count: Int) {
        let start = published.load(ordering: .relaxed)
        published.store(start + UInt64(count), ordering: .releasing)
    }

    // MARK: - Reading

    /// How many records have been written so far.
    package var written: UInt64 { published.load(ordering: .acquiring) }

    /// What a reader got.
    package struct Records {
        /// Their words, one record behind the other, the oldest first.
        package fileprivate(set) var words: [UInt64] = []

        /// How many were written over before they could be read.
        package fileprivate(set) var lost: UInt64 = 0

        /// From where on to read the next time.
        package fileprivate(set) var next: UInt64
    }

    /// Copies the records from number `start` on, as far as they are still there.
    package func records(since start: UInt64) -> Records {
        let end = written
        let first = max(start, end > UInt64(Self.capacity) ? end - UInt64(Self.capacity) : 0)
        var records = Records(next: end)
        guard first < end else { return records }
        records.words.reserveCapacity(Int(end - first) * Self.wordCount)
        for record in first..<end {
            let place = Self.place(record)
            for word in 0..<Self.wordCount {
                // SAFETY: as above.
                records.words.append(unsafe words[place + word].load(ordering: .relaxed))
            }
        }
        // What was copied before this is as old as what is known after it.
        atomicMemoryFence(ordering: .acquiring)
        let begun = reserved.load(ordering: .relaxed)
        let whole = max(first, begun > UInt64(Self.capacity) ? begun - UInt64(Self.capacity) : 0)
        let torn = min(whole, end) - first
        records.words.removeFirst(Int(torn) * Self.wordCount)
        records.lost = min(whole, end) - min(start, end)
        return records
    }

    private static func place(_ record: UInt64) -> Int {
        Int(truncatingIfNeeded: record % UInt64(capacity)) * wordCount
    }
}
