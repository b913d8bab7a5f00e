// SPDX-License-Identifier: Apache-2.0

/// Slots of a batch of messages, of which there are 32: in a loop the lowest comes first.
struct SlotSet: Sequence, IteratorProtocol {
    private var bits: UInt32

    /// No slots.
    init() { bits = 0 }

    private init(bits: UInt32) { self.bits = bits }

    var isEmpty: Bool { bits == 0 }
    var count: Int { bits.nonzeroBitCount }

    func contains(_ slot: Int) -> Bool { bits & 1 << UInt32(slot) != 0 }

    func union(_ others: SlotSet) -> SlotSet { SlotSet(bits: bits | others.bits) }

    mutating func insert(_ slot: Int) { bits |= 1 << UInt32(slot) }

    /// Takes out the lowest.
    mutating func next() -> Int? {
        guard bits != 0 else { return nil }
        defer { bits &= bits - 1 }
        return bits.trailingZeroBitCount
    }
}
