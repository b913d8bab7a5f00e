// SPDX-License-Identifier: Apache-2.0
import Synchronization
import Testing

@testable import Net

@Suite("Ring buffer of records")
struct RecordRingTests {
    func write(_ numbers: Range<UInt64>, to ring: RecordRing) {
        ring.begin(numbers.count)
        for (offset, number) in numbers.enumerated() { write(number, to: ring, offset) }
        ring.end(numbers.count)
    }

    func write(_ number: UInt64, to ring: RecordRing, _ offset: Int) {
        let text = [UInt64](repeating: number, count: RecordRing.textOctets / 8 + 1)
        ring.write((number, number, number, number, number), text.span.bytes, ofNext: offset)
    }

    func numbers(_ records: RecordRing.Records) -> [UInt64] {
        stride(from: 0, to: records.words.count, by: RecordRing.wordCount).map { records.words[$0] }
    }

    @Test("records are read once, in order")
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

    @Test("a text of any length is stored with all its octets", arguments: 0...25)
    func text(count: Int) {
        let ring = RecordRing()
        let text = (0..<count).map { UInt8($0 + 1) }
        ring.begin(1)
        ring.write((1, 2, 3, 4, 5), text.span.bytes, ofNext: 0)
        ring.end(1)
        let words = ring.records(since: 0).words
        #expect(words.prefix(5) == [1, 2, 3, 4, 5])
        let kept = (0..<count).map {
            UInt8(truncatingIfNeeded: words[5 + $0 / 8] >> UInt64(8 * ($0 % 8)))
        }
        #expect(kept == text)
        if count % 8 > 0 { #expect(words[5 + count / 8] >> UInt64(8 * (count % 8)) == 0) }
    }

    @Test("a late reader gets the number of lost records", arguments: [64, RecordRing.mostRecords])
    func late(capacity: Int) {
        let ring = RecordRing(capacity: capacity)
        let capacity = UInt64(ring.capacity)
        for start in stride(from: 0, to: capacity + 64, by: 32) {
            write(start..<start + 32, to: ring)
        }
        let records = ring.records(since: 10)
        #expect(records.lost == 54)
        #expect(numbers(records) == Array(64..<capacity + 64))
        #expect(records.next == capacity + 64)
    }

    @Test("a record is not returned while the writer replaces it")
    func torn() {
        let ring = RecordRing()
        let capacity = UInt64(ring.capacity)
        for start in stride(from: 0, to: capacity, by: 32) { write(start..<start + 32, to: ring) }
        ring.begin(2)
        write(999, to: ring, 0)
        let records = ring.records(since: 0)
        #expect(numbers(records) == Array(2..<capacity))
        #expect(records.lost == 2)
    }

    @Test("a reader that runs concurrently with the writer gets complete records only")
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
