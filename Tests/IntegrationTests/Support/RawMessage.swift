// SPDX-License-Identifier: Apache-2.0

/// Reads and composes DNS messages without the daemon's code.
enum RawMessage {
    /// Composes a query.
    ///
    /// - Parameters:
    ///   - flags: second 16 bits of the header; RD by default.
    ///   - version: EDNS version of an OPT with payload size 1,232; if nil, the query has no OPT.
    static func query(
        _ name: String,
        type: UInt16 = 1,
        class: UInt16 = 1,
        id: UInt16 = 0x1234,
        flags: UInt16 = 0x0100,
        edns version: UInt8? = nil
    ) -> [UInt8] {
        var octets = words(id, flags, 1, 0, 0, version == nil ? 0 : 1)
        for label in name.split(separator: ".") {
            octets += [UInt8(label.utf8.count)] + Array(label.utf8)
        }
        octets += [0] + words(type, `class`)
        if let version { octets += [0] + words(41, 1232) + [0, version, 0, 0, 0, 0] }
        return octets
    }

    static func denial(of query: [UInt8]) -> [UInt8] {
        var reply = query
        reply[2] |= 0x80
        reply[3] = 0x83
        return reply
    }

    static func id(_ message: [UInt8]) -> UInt16 { word(message, 0) }
    static func rcode(_ message: [UInt8]) -> UInt8 { message[3] & 0x0F }
    static func answers(_ message: [UInt8]) -> UInt16 { word(message, 6) }

    private static func word(_ message: [UInt8], _ offset: Int) -> UInt16 {
        UInt16(message[offset]) << 8 | UInt16(message[offset + 1])
    }

    private static func words(_ words: UInt16...) -> [UInt8] {
        words.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    }
}

struct Seeded: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
