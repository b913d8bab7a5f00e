// SPDX-License-Identifier: Apache-2.0
internal import CBPF
internal import DNSCache
internal import DNSWire

extension CBPF.answer {
    init(_ answer: MirroredAnswer, origin: UInt64, slot: UInt32) {
        self.init()
        // An answer of a snapshot can be older than the boot. Then the sum overflows, but the BPF
        // program computes the age modulo 2^64.
        stored_at = origin &+ UInt64(bitPattern: answer.storedAt) &* 1_000_000
        ends_at = UInt64(clamping: Int64(clamping: origin) + answer.endsAt * 1_000_000)
        self.slot = slot
        type = answer.type
        variant = answer.variant.rawValue
        flags = answer.flags | UInt16(answer.rcode)
        // No bits are lost: a copied answer has at most `MirroredAnswer.mostTTLs` (16) records.
        counts = (
            UInt8(truncatingIfNeeded: answer.answerCount),
            UInt8(truncatingIfNeeded: answer.authorityCount),
            UInt8(truncatingIfNeeded: answer.additionalCount)
        )
    }
}

extension answer_listener {
    init(_ address: IPAddress, _ port: UInt16) {
        self.init()
        self.port = port.bigEndian
        switch address {
        case .v4(let address):
            family = 4
            self.address.0 = (address.value == 0 ? 0x7F00_0001 : address.value).bigEndian
        case .v6(let address):
            family = 6
            let low = address.high == 0 && address.low == 0 ? 1 : address.low
            self.address = (
                UInt32(address.high >> 32).bigEndian,
                UInt32(truncatingIfNeeded: address.high).bigEndian,
                UInt32(low >> 32).bigEndian, UInt32(truncatingIfNeeded: low).bigEndian
            )
        }
    }
}
