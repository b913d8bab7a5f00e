// SPDX-License-Identifier: Apache-2.0
internal import DNSCache

/// Copies of cached answers in the kernel, and their hits.
struct Copies: ~Copyable {
    var slots: [Slot] = []
    var free: [UInt32] = []

    /// Slot of each copied answer, by the key of the answer in the BPF map.
    var places: [UInt64: UInt32] = [:]

    let room: Int

    /// Hits that were read from the BPF map, but not yet returned by `newHits`.
    var hits: [MirroredHits] = []
    var collected: UInt64 = 0

    /// Number of idle copies that `newHits` may still report in this pass over all slots.
    ///
    /// A copy is idle if it had no hits since the last pass. The cache removes the reported copies,
    /// to free space in the BPF map. While the map has free space, no idle copies are reported.
    var idleLeft = 0

    /// Address families (`ANSWER_IPV4`, `ANSWER_IPV6`) of the clients that the BPF program answers.
    var families: UInt32 = 0

    /// Number of `suspend` calls without a `resume`.
    var holders = 0

    var isChanging = false

    /// Descriptor that keeps the BPF program attached; -1 if not attached.
    var link: Int32 = -1

    init(room: Int) { self.room = room }
    var isFull: Bool { free.isEmpty && slots.count >= room }

    mutating func takeSlot() -> UInt32? {
        if let slot = free.popLast() { return slot }
        guard slots.count < room else { return nil }
        slots.append(Slot())
        return UInt32(slots.count - 1)
    }

    mutating func release(_ slot: UInt32) {
        places[slots[Int(slot)].key] = nil
        slots[Int(slot)].isUsed = false
        free.append(slot)
    }
}

struct Slot {
    var key: UInt64 = 0
    var of = MirroredHits()

    /// Last value of the slot's hit counter, which also counts hits on earlier answers in the slot.
    var seen: UInt64 = 0
    var isUsed = false
    init() {}

    init(key: UInt64, of hits: MirroredHits, seen: UInt64) {
        self.key = key
        of = hits
        self.seen = seen
        isUsed = true
    }
}
