// SPDX-License-Identifier: Apache-2.0

/// Mnemonics of an IANA registry; other numbers have the generic form (RFC 3597 §5).
struct Mnemonics: Sendable {
    let prefix: String

    private let names: [UInt16: String]
    private let numbers: [String: UInt16]

    init(prefix: String, _ pairs: KeyValuePairs<UInt16, String>) {
        self.prefix = prefix
        names = Dictionary(uniqueKeysWithValues: pairs.map { ($0.key, $0.value) })
        numbers = Dictionary(uniqueKeysWithValues: pairs.map { ($0.value, $0.key) })
    }

    func text(_ number: UInt16) -> String { names[number] ?? prefix + String(number) }

    func number(_ text: some StringProtocol) -> UInt16? {
        guard 1...32 ~= text.utf8.count else { return nil }
        let capitals = text.uppercased()
        if let number = numbers[capitals] { return number }
        guard capitals.hasPrefix(prefix) else { return nil }
        let digits = capitals.dropFirst(prefix.count)
        guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return UInt16(digits)
    }
}
