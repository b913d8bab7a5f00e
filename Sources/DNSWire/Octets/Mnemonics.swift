// SPDX-License-Identifier: Apache-2.0

/// Numbers of an IANA registry and their mnemonics, with the generic form of RFC 3597 §5 for the
/// rest.
struct Mnemonics: Sendable {
    /// Prefix of the generic form, such as `TYPE`.
    let prefix: String

    private let names: [UInt16: String]

    private let numbers: [String: UInt16]

    /// Creates the table.
    ///
    /// Numbers and names in `pairs` must be unique.
    init(prefix: String, _ pairs: KeyValuePairs<UInt16, String>) {
        self.prefix = prefix
        names = Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, $0.value) })
        numbers = Dictionary(uniqueKeysWithValues: pairs.map { ($0.value, $0.key) })
    }

    /// Returns the mnemonic of `number`, or the generic form.
    func text(_ number: UInt16) -> String {
        names[number] ?? prefix + String(number)
    }

    /// Returns the number of a mnemonic or of a generic form, ignoring case.
    func number(_ text: some StringProtocol) -> UInt16? {
        // No mnemonic is longer than 32 octets: do not copy longer text.
        guard 1...32 ~= text.utf8.count else { return nil }
        let capitals = text.uppercased()
        if let number = numbers[capitals] { return number }
        guard capitals.hasPrefix(prefix) else { return nil }
        let digits = capitals.dropFirst(prefix.count)
        guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return UInt16(digits)
    }
}
