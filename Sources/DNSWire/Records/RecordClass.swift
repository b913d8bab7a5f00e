// SPDX-License-Identifier: Apache-2.0

/// CLASS or QCLASS (RFC 1035 §3.2.4, §3.2.5).
@frozen
public struct RecordClass: RawRepresentable, Hashable, Sendable {
    /// Number of the class.
    public let rawValue: UInt16

    /// Creates a class from its number.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    // Faster than the generic `==` of `RawRepresentable`.
    /// Compares the numbers.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }
}

// MARK: - Known classes

extension RecordClass {
    package static let `in` = RecordClass(rawValue: 1)
    /// Chaos class.
    package static let ch = RecordClass(rawValue: 3)
    /// Class for updates only (RFC 2136 §2.4).
    package static let none = RecordClass(rawValue: 254)
    /// Class for questions only.
    package static let any = RecordClass(rawValue: 255)
}

// MARK: - Reading

extension RecordClass {
    /// Parses a mnemonic or `CLASS255` in any letter case (RFC 3597 §5).
    package init?(_ text: some StringProtocol) {
        guard let number = Self.mnemonics.number(text) else { return nil }
        self.init(rawValue: number)
    }
}

// MARK: - Conformances

extension RecordClass: CustomStringConvertible {
    /// Mnemonic or generic form (RFC 3597 §5).
    ///
    /// Class ANY is written `CLASS255`, because `ANY` is also a type.
    public var description: String { Self.mnemonics.text(rawValue) }

    private static let mnemonics = Mnemonics(prefix: "CLASS", [1: "IN", 3: "CH", 4: "HS"])
}
