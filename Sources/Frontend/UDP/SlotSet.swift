// SPDX-License-Identifier: Apache-2.0

/// Slots in a batch of at most 32 messages.
struct SlotSet: Sequence, IteratorProtocol {
    private var bits: UInt32

    init() { bits = 0 }

    private init(bits: UInt32) { self.bits = bits }

    var isEmpty: Bool { bits == 0 }
    var count: Int { bits.nonzeroBitCount }

    func contains(_ slot: Int) -> Bool { bits & 1 << UInt32(slot) != 0 }

    func union(_ others: SlotSet) -> SlotSet { SlotSet(bits: bits | others.bits) }

    mutating func insert(_ slot: Int) { bits |= 1 << UInt32(slot) }

    mutating func next() -> Int? {
        guard bits != 0 else { return nil }
        defer { bits &= bits - 1 }
        return bits.trailingZeroBitCount
    }
}
