// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// CRC-32C (RFC 3720 §12.1), eight octets per step.
struct CRC32C {
    private var state: UInt32 = ~0

    var value: UInt32 { ~state }

    mutating func add(_ octets: [UInt8]) {
        let table = Self.table
        let span = octets.rawSpan
        var state = state
        var offset = 0
        while offset + 8 <= octets.count {
            let word = span.octets8(at: offset) ^ UInt64(state)
            state = 0
            for place in 0..<8 {
                let octet = Int(truncatingIfNeeded: word >> UInt64(8 * place) & 0xFF)
                state ^= table[(7 - place) << 8 | octet]
            }
            offset += 8
        }
        while offset < octets.count {
            state = state >> 8 ^ table[Int((state ^ UInt32(octets[offset])) & 0xFF)]
            offset += 1
        }
        self.state = state
    }

    private static let polynomial: UInt32 = 0x82F6_3B78

    private static let table: [UInt32] = {
        var table: [UInt32] = []
        table.reserveCapacity(2048)
        for octet in UInt32(0)..<256 {
            var check = octet
            for _ in 0..<8 { check = check & 1 == 0 ? check >> 1 : check >> 1 ^ polynomial }
            table.append(check)
        }
        for index in 256..<2048 {
            let before = table[index - 256]
            table.append(before >> 8 ^ table[Int(before & 0xFF)])
        }
        return table
    }()
}
