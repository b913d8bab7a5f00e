// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing

@testable import Net

@Suite("A ring of records")
struct RecordRingTests {
    /// Writes a record whose words all have the value of its number.
    func write(_ numbers: Range<UInt64>, to ring: RecordRing) {
        ring.begin(numbers.count)
        for (offset, number) in numbers.enumerated() {
            for word in 0..<RecordRing.wordCount { ring.set(word, ofNext: offset, to: number) }
        }
        ring.end(numbers.count)
    }

    /// The first word of each record.
    func numbers(_ records: RecordRing.Records) -> [UInt64] {
        stride(from: 0, to: records.words.count, by: RecordRing.wordCount).map { records.words[$0] }
    }

    @Test("what was written is read, once, in its order")
    func reading() {
        let ring = RecordRing()
        #expect(ring.records(since: 0).words.isEmpty)
        write(0..<3, to: ring)
        let first = ring.records(since: 0)
        #expect(numbers(first) == [0, 1, 2] && first.lost == 0 && first.next == 3)
        #expect(ring.records(since: first.next).words.isEmpty)
        write(3..<4, to: ring)
        #expect(numbers(ring.records(since: first.next)) == [3])
    }

    @Test("a reader that comes too late is told how much it missed")
    func late() {
        let ring = RecordRing()
        let capacity = UInt64(RecordRing.capacity)
        for start in stride(from: 0, to: capacity + 64, by: 32) {
            write(start..<start + 32, to: ring)
        }
        let records = ring.records(since: 10)
        #expect(records.lost == 54)
        #expect(numbers(records) == Array(64..<capacity + 64))
        #expect(records.next == capacity + 64)
    }

    @Test("records that are being written over are not given out")
    func torn() {
        let ring = RecordRing()
        let capacity = UInt64(RecordRing.capacity)
        for start in stride(from: 0, to: capacity, by: 32) { write(start..<start + 32, to: ring) }
        ring.begin(2)
        ring.set(0, ofNext: 0, to: 999)
        let records = ring.records(since: 0)
        #expect(numbers(records) == Array(2..<capacity))
        #expect(records.lost == 2)
    }

    @Test("whoever reads while another thread writes sees whole records only")
    func threads() async throws {
        let ring = RecordRing()
        let isDone = Atomic(false)
        let writer = Task.detached { [self] in
            var next: UInt64 = 0
            while !isDone.load(ordering: .relaxed) {
                write(next..<next + 32, to: ring)
                next += 32
            }
            return next
        }
        var place: UInt64 = 0
        var seen: UInt64 = 0
        var turns = 0
        while turns < 200 {
            let records = ring.records(since: place)
            let lost = records.lost
            var expected = place + lost
            for start in stride(from: 0, to: records.words.count, by: RecordRing.wordCount) {
                let record = records.words[start..<start + RecordRing.wordCount]
                try #require(record.allSatisfy { $0 == expected })
                expected += 1
            }
            try #require(expected == records.next)
            seen += UInt64(records.words.count / RecordRing.wordCount)
            place = records.next
            if place > 0 { turns += 1 } else { await Task.yield() }
        }
        isDone.store(true, ordering: .relaxed)
        let written = await writer.value
        #expect(seen > 0 && seen <= written)
    }
}
