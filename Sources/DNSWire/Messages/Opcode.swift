// SPDX-License-Identifier: Apache-2.0

/// Kind of query (RFC 1035 §4.1.1).
package struct Opcode: RawRepresentable, Hashable, Sendable {
    /// 0...15.
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue & 0xF
    }
}

// MARK: - Opcodes with a name

extension Opcode {
    package static let query = Opcode(rawValue: 0)
    /// Inverse query, obsolete (RFC 3425).
    package static let iquery = Opcode(rawValue: 1)
    package static let status = Opcode(rawValue: 2)
    /// Zone change (RFC 1996).
    package static let notify = Opcode(rawValue: 4)
    /// Dynamic update (RFC 2136).
    package static let update = Opcode(rawValue: 5)
    /// Stateful operation (RFC 8490).
    package static let dso = Opcode(rawValue: 6)
}

// MARK: - Conformances

extension Opcode: CustomStringConvertible {
    package var description: String { Self.mnemonics.text(UInt16(rawValue)) }

    /// Parses a mnemonic or the generic form, ignoring case.
    package init?(_ text: some StringProtocol) {
        guard let number = Self.mnemonics.number(text), number <= 15 else { return nil }
        self.init(rawValue: UInt8(number))
    }

    private static let mnemonics = Mnemonics(
        prefix: "OPCODE",
        [0: "QUERY", 1: "IQUERY", 2: "STATUS", 4: "NOTIFY", 5: "UPDATE", 6: "DSO"]
    )
}
