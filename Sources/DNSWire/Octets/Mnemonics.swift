// SPDX-License-Identifier: Apache-2.0

/// Numbers of a registry with their mnemonics, and a form for those that have none (RFC 3597 §5).
struct Mnemonics: Sendable {
    /// What stands before the number of a value without a mnemonic, such as `TYPE`.
    let prefix: String

    /// The names by number.
    private let names: [UInt16: String]

    /// The numbers by name.
    private let numbers: [String: UInt16]

    /// Makes the table of pairs that repeat neither a number nor a name.
    init(prefix: String, _ pairs: KeyValuePairs<UInt16, String>) {
        self.prefix = prefix
        names = Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, $0.value) })
        numbers = Dictionary(uniqueKeysWithValues: pairs.map { ($0.value, $0.key) })
    }

    /// The mnemonic, or the prefix and the number.
    func text(_ number: UInt16) -> String {
        names[number] ?? prefix + String(number)
    }

    /// The number of a mnemonic or of the prefix and decimal digits, in any case of letters.
    func number(_ text: some StringProtocol) -> UInt16? {
        // Longer than any mnemonic there is: not worth a copy in capitals.
        guard 1...32 ~= text.utf8.count else { return nil }
        let capitals = text.uppercased()
        if let number = numbers[capitals] { return number }
        guard capitals.hasPrefix(prefix) else { return nil }
        let digits = capitals.dropFirst(prefix.count)
        guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return UInt16(digits)
    }
}
