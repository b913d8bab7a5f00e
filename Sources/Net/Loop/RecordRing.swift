// SPDX-License-Identifier: Apache-2.0
internal import Synchronization

/// Circular buffer of the latest records of one writer thread, readable by any thread.
///
/// A reader copies records. Then it discards the copies of records that the writer may have
/// overwritten meanwhile, and counts these records as lost. The number of a valid record is in this
/// range:
///
///     reserved - capacity <= number < published <= reserved
// SAFETY: every word is atomic; the indices are taken modulo the ring's size.
@safe
package final class RecordRing: Sendable {
    /// Number of 64-bit words per record.
    package static let wordCount = 32

    /// Maximum octets of text, which follows the five numbers of a record.
    package static let textOctets = (wordCount - 5) * 8

    package static let mostRecords = 4096

    /// Number of records, a power of two.
    package let capacity: Int

    // SAFETY: allocated by `init`, freed by `deinit`, and otherwise constant.
    private nonisolated(unsafe) let words: UnsafeMutablePointer<Atomic<UInt64>>

    private let reserved = Atomic<UInt64>(0)
    private let published = Atomic<UInt64>(0)

    package init(capacity: Int = RecordRing.mostRecords) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0, "a power of two")
        self.capacity = capacity
        // Uninitialised; readers read only records below `published`.
        unsafe words = .allocate(capacity: capacity * Self.wordCount)
    }

    deinit { unsafe words.deallocate() }

    // MARK: - Writing

    /// Reserves the places of the next `count` records; writer thread only.
    package func begin(_ count: Int) {
        let start = published.load(ordering: .relaxed)
        reserved.store(start + UInt64(count), ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
    }

    /// Writes the record at reserved place `offset`, counted from 0; writer thread only.
    ///
    /// Packs eight octets of `text` per word, little-endian; truncates `text` to `textOctets`.
    package func write(
        _ numbers: (UInt64, UInt64, UInt64, UInt64, UInt64),
        _ text: RawSpan,
        ofNext offset: Int
    ) {
        let place = place(published.load(ordering: .relaxed) &+ UInt64(offset))
        let count = min(text.byteCount, Self.textOctets)
        // SAFETY: the words lie within the ring, and eight octets are loaded only where eight
        // remain.
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

    private static func octets(_ range: Range<Int>, of text: RawSpan) -> UInt64 {
        // If at least eight octets precede the end of the range, one load reads the last eight.
        guard range.upperBound < 8 else {
            let start = range.upperBound - 8
            // SAFETY: the text is not shorter than the range's end.
            let last = unsafe text.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self)
            return last >> UInt64(8 * (8 - range.count))
        }
        var word: UInt64 = 0
        for octet in range.reversed() {
            // SAFETY: the text is not shorter than the range's end.
            word = word << 8 | UInt64(unsafe text.unsafeLoad(fromByteOffset: octet, as: UInt8.self))
        }
        return word
    }

    package func end(_ count: Int) {
        let start = published.load(ordering: .relaxed)
        published.store(start + UInt64(count), ordering: .releasing)
    }

    // MARK: - Reading

    package var written: UInt64 { published.load(ordering: .acquiring) }

    package struct Records {
        package fileprivate(set) var words: [UInt64] = []

        /// Number of records that the writer overwrote before, or possibly during, the copy.
        package fileprivate(set) var lost: UInt64 = 0

        package fileprivate(set) var next: UInt64
    }

    /// Copies the records that are still in the buffer, from the sequence number `start` on.
    package func records(since start: UInt64) -> Records {
        let end = written
        let first = max(start, end > UInt64(capacity) ? end - UInt64(capacity) : 0)
        var records = Records(next: end)
        guard first < end else { return records }
        records.words.reserveCapacity(Int(end - first) * Self.wordCount)
        for record in first..<end {
            let place = place(record)
            for word in 0..<Self.wordCount {
                records.words.append(unsafe words[place + word].load(ordering: .relaxed))
            }
        }
        // Orders the reads of the records before the load of `reserved`.
        atomicMemoryFence(ordering: .acquiring)
        let begun = reserved.load(ordering: .relaxed)
        let whole = max(first, begun > UInt64(capacity) ? begun - UInt64(capacity) : 0)
        let torn = min(whole, end) - first
        records.words.removeFirst(Int(torn) * Self.wordCount)
        records.lost = min(whole, end) - min(start, end)
        return records
    }

    private func place(_ record: UInt64) -> Int {
        (Int(truncatingIfNeeded: record) & (capacity - 1)) * Self.wordCount
    }
}
