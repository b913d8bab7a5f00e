// SPDX-License-Identifier: Apache-2.0
internal import DNSCache

/// What is known of the copies.
struct Copies: ~Copyable {
    /// Where answers are counted; as long as the highest that was used needs it.
    var slots: [Slot] = []
    var free: [UInt32] = []

    /// Slots by the copies' keys.
    var places: [UInt64: UInt32] = [:]

    /// Copies that there may be.
    let room: Int

    /// Collected, and not told yet.
    var hits: [MirroredHits] = []
    var collected: UInt64 = 0

    /// Who may be answered if nobody wants it otherwise, and how many do.
    var families: UInt32 = 0
    var holders = 0

    /// Whether a change is under way that more belongs to.
    var isChanging = false

    /// What keeps the program on the device; -1 before that.
    var link: Int32 = -1

    /// No copies.
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

/// The place of a copy.
struct Slot {
    var key: UInt64 = 0
    var of = MirroredHits()

    /// Hits that were collected, of whatever was here.
    var seen: UInt64 = 0
    var isUsed = false

    /// A free place.
    init() {}

    init(key: UInt64, of hits: MirroredHits, seen: UInt64) {
        self.key = key
        of = hits
        self.seen = seen
        isUsed = true
    }
}
