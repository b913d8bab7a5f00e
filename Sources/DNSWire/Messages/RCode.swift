// SPDX-License-Identifier: Apache-2.0

/// Response code: 4 bits of the header, and the upper 8 bits from OPT (RFC 6891 §6.1.3).
@frozen
public struct RCode: RawRepresentable, Hashable, Sendable {
    /// The number, 0...4095.
    public let rawValue: UInt16

    /// Creates a code from its number.
    @inlinable
    public init(rawValue: UInt16) { self.rawValue = rawValue & 0xFFF }

    // Without this function, each comparison would call the generic `==` of `RawRepresentable`.
    /// Compares the numbers.
    @inlinable
    public static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }
}

// MARK: - Codes with a name

extension RCode {
    package static let noError = RCode(rawValue: 0)
    package static let formErr = RCode(rawValue: 1)
    package static let servFail = RCode(rawValue: 2)
    package static let nxDomain = RCode(rawValue: 3)
    package static let notImp = RCode(rawValue: 4)
    package static let refused = RCode(rawValue: 5)
    /// RFC 2136 §2.2.
    package static let yxDomain = RCode(rawValue: 6)
    /// BADVERS (RFC 6891 §6.1.3); BADSIG in TSIG.
    package static let badVers = RCode(rawValue: 16)
    /// RFC 7873 §8.
    package static let badCookie = RCode(rawValue: 23)
}

// MARK: - Conformances

extension RCode: CustomStringConvertible {
    /// Mnemonic, or the number.
    public var description: String { Self.mnemonics.text(rawValue) }

    /// Parses a mnemonic or the generic form.
    package init?(_ text: some StringProtocol) {
        guard let number = Self.mnemonics.number(text), number <= 0xFFF else { return nil }
        self.init(rawValue: number)
    }

    private static let mnemonics = Mnemonics(
        prefix: "RCODE",
        [
            0: "NOERROR", 1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED",
            6: "YXDOMAIN", 7: "YXRRSET", 8: "NXRRSET", 9: "NOTAUTH", 10: "NOTZONE",
            11: "DSOTYPENI", 16: "BADVERS", 17: "BADKEY", 18: "BADTIME", 19: "BADMODE",
            20: "BADNAME", 21: "BADALG", 22: "BADTRUNC", 23: "BADCOOKIE",
        ]
    )
}
