// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Net

@Suite("A short array")
struct ShortArrayTests {
    @Test
    func `a short array with any number of elements behaves like an array`() {
        var (short, long) = (ShortArray<Int>(), [Int]())
        #expect(short.isEmpty)
        for number in 0..<5 {
            short.append(number)
            long.append(number)
            #expect(Array(short) == long)
            #expect(short == ShortArray(long))
            #expect(short.count == long.count)
        }
        short[0] = 7
        short[4] = 8
        #expect(Array(short) == [7, 1, 2, 3, 8])
        #expect(short.contains { $0 == 8 } && !short.contains { $0 == 4 })
        #expect(short.allSatisfy { $0 > 0 } && !short.allSatisfy { $0 > 1 })
        #expect(short.remove(at: 0) == 7)
        #expect(short.remove(at: 2) == 3)
        #expect(Array(short) == [1, 2, 8])
    }

    @Test(arguments: 0..<8)
    func `only the selected elements are removed`(_ chosen: Int) {
        var short = ShortArray(0..<3)
        short.removeAll { chosen & 1 << $0 != 0 }
        #expect(Array(short) == (0..<3).filter { chosen & 1 << $0 == 0 })
    }
}
