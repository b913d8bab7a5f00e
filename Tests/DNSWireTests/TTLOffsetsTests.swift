// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import DNSWire

@Suite("Offsets of TTLs")
struct TTLOffsetsTests {
    @Test(arguments: 0...9)
    func `a list of offsets is read back unchanged, whatever its length`(_ count: Int) {
        let numbers = (0..<count).map { UInt16(0x1234 &* $0 &+ 45) }
        let offsets = TTLOffsets(numbers)
        #expect(Array(offsets) == numbers)
        #expect(offsets.count == count && offsets.rawSpan.byteCount == 2 * count)
        for (index, number) in numbers.enumerated() {
            #expect(offsets.rawSpan.uint16(at: 2 * index).byteSwapped == number)
        }
        #expect(
            offsets == TTLOffsets(numbers) && offsets.hashValue == TTLOffsets(numbers).hashValue
        )
        #expect(offsets != TTLOffsets(numbers + [1]))
    }
}
