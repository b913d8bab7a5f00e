// SPDX-License-Identifier: Apache-2.0

private struct Unit {
    let name: String
    let factor: Int

    /// Invalid spellings of `name`.
    let otherNames: [String]
}

/// Units of durations or of sizes; each value is a whole number of one unit.
private struct Scale: Sendable {
    let units: [Unit]

    let proposed: String

    let hasBareZero: Bool
    static let time = Scale(
        units: [
            Unit(name: "d", factor: 86_400_000, otherNames: ["day", "days"]),
            Unit(name: "h", factor: 3_600_000, otherNames: ["hr", "hour", "hours"]),
            Unit(name: "m", factor: 60_000, otherNames: ["min", "mins", "minute", "minutes"]),
            Unit(name: "s", factor: 1000, otherNames: ["sec", "secs", "second", "seconds"]),
            Unit(name: "ms", factor: 1, otherNames: ["msec", "millisecond", "milliseconds"]),
        ],
        proposed: "s",
        hasBareZero: true
    )

    static let size = Scale(
        units: [
            Unit(name: "GiB", factor: 1 << 30, otherNames: ["g", "gb"]),
            Unit(name: "MiB", factor: 1 << 20, otherNames: ["m", "mb"]),
            Unit(name: "KiB", factor: 1 << 10, otherNames: ["k", "kb"]),
            Unit(name: "B", factor: 1, otherNames: ["octet", "octets", "byte", "bytes"]),
        ],
        proposed: "MiB",
        hasBareZero: false
    )

    func read(_ text: String) throws(Mismatch) -> Int {
        let digits = text.prefix { ("0"..."9").contains($0) }
        let rest = text.dropFirst(digits.count).drop { $0 == " " }
        guard !digits.isEmpty else { throw Mismatch() }
        if rest.first == "." { throw decimalPoint(in: text) }
        if rest.isEmpty {
            guard hasBareZero, digits.allSatisfy({ $0 == "0" }) else {
                throw Mismatch(hint: "did you mean `\(digits.prefix(20))\(proposed)`?")
            }
            return 0
        }
        guard let unit = units.first(where: { $0.name == rest }), !text.contains(" ") else {
            let word = rest.lowercased()
            let meant = units.first { $0.name.lowercased() == word || $0.otherNames.contains(word) }
            throw Mismatch(hint: meant.map { "did you mean `\(digits.prefix(20))\($0.name)`?" })
        }
        let (value, overflow) = (Int(digits) ?? .max).multipliedReportingOverflow(by: unit.factor)
        return overflow ? .max : value
    }

    private func decimalPoint(in text: String) -> Mismatch {
        let number = text.prefix { $0 == "." || ("0"..."9").contains($0) }
        let unit = units.first { $0.name == text.dropFirst(number.count) }
        let value = (Double(number) ?? .infinity) * Double(unit?.factor ?? 0)
        let isWhole = value > 0 && value < 1e15 && value == value.rounded()
        return Mismatch(
            message: "`\(text.shortened)` has a decimal point; only whole numbers are valid",
            hint: isWhole ? "did you mean `\(write(Int(value)))`?" : nil
        )
    }

    /// Returns the value in the largest unit that gives a whole number, such as `2m`.
    func write(_ value: Int) -> String {
        if value == 0 { return "0" + (hasBareZero ? "s" : units[units.count - 1].name) }
        for unit in units where value.isMultiple(of: unit.factor) {
            return "\(value / unit.factor)\(unit.name)"
        }
        return "\(value)"
    }
}

// MARK: - Kinds

extension SettingsKind where Value == Duration {
    static func duration(_ range: ClosedRange<Duration>) -> SettingsKind {
        let first = Scale.time.write(range.lowerBound.milliseconds)
        let last = Scale.time.write(range.upperBound.milliseconds)
        return .scalar(
            "a duration from \(first) to \(last)",
            schema: SettingsSchema.number(0...0, pattern: "^(0+|[0-9]+(ms|s|m|h|d))$"),
            read: { text throws(Mismatch) in try duration(text, in: range) },
            write: { .text(Scale.time.write($0.milliseconds)) }
        )
    }

    static func duration(
        _ text: String,
        in range: ClosedRange<Duration>
    ) throws(Mismatch) -> Duration {
        let milliseconds = try Scale.time.read(text)
        guard milliseconds <= range.upperBound.milliseconds else { throw Mismatch() }
        let duration = Duration.milliseconds(milliseconds)
        guard range.contains(duration) else { throw Mismatch() }
        return duration
    }
}

extension SettingsKind where Value == Double {
    static var price: SettingsKind {
        .scalar(
            "a price from 0 to 1000000 with at most six decimals",
            schema: SettingsSchema.decimal(
                maximum: 1_000_000,
                pattern: "^[0-9]{1,7}([.][0-9]{1,6})?$"
            ),
            read: { text throws(Mismatch) in
                let parts = text.split(separator: ".", omittingEmptySubsequences: false)
                guard parts.count <= 2, parts.allSatisfy({ !$0.isEmpty && $0.count <= 7 }),
                    parts.count == 1 || parts[1].count <= 6,
                    text.utf8.allSatisfy({ $0.isDigit || $0 == 0x2E }),
                    let price = Double(text), price <= 1_000_000
                else { throw Mismatch() }
                return price
            },
            write: { .text($0 == $0.rounded() ? "\(Int($0))" : "\($0)") }
        )
    }
}

extension SettingsKind where Value == String {
    static var currency: SettingsKind {
        .scalar(
            "an ISO 4217 currency code such as CNY",
            schema: SettingsSchema.string("^[A-Z]{3}$"),
            read: { text throws(Mismatch) in
                guard text.utf8.count == 3, text.utf8.allSatisfy({ (0x41...0x5A).contains($0) })
                else {
                    throw Mismatch(hint: currencyCode(of: text).map { "did you mean `\($0)`?" })
                }
                return text
            }
        )
    }

    private static func currencyCode(of text: String) -> String? {
        let codes = [
            "yuan": "CNY", "renminbi": "CNY", "rmb": "CNY", "¥": "CNY", "元": "CNY",
            "dollar": "USD", "dollars": "USD", "$": "USD", "us$": "USD", "euro": "EUR", "€": "EUR",
        ]
        if let code = codes[text.lowercased()] { return code }
        let isCode =
            text.utf8.count == 3 && text.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
        return isCode ? text.uppercased() : nil
    }
}

extension SettingsKind where Value: FixedWidthInteger {
    static func integer(_ range: ClosedRange<Int>) -> SettingsKind {
        .scalar(
            range.upperBound == .max
                ? "a whole number from \(range.lowerBound)"
                : "a whole number from \(range.lowerBound) to \(range.upperBound)",
            schema: SettingsSchema.number(range, pattern: "^[0-9]+$"),
            read: { text throws(Mismatch) in
                guard text.utf8.allSatisfy(\.isDigit), let number = Int(text),
                    range.contains(number)
                else { throw Mismatch() }
                return Value(number)
            }
        )
    }
}

extension SettingsKind where Value == Int {
    static func size(_ range: ClosedRange<Int>) -> SettingsKind {
        .scalar(
            "a size from \(Scale.size.write(range.lowerBound)) to"
                + " \(Scale.size.write(range.upperBound))",
            schema: SettingsSchema.string("^[0-9]+(B|KiB|MiB|GiB)$"),
            read: { text throws(Mismatch) in
                let octets = try Scale.size.read(text)
                guard range.contains(octets) else { throw Mismatch() }
                return octets
            },
            write: { .text(Scale.size.write($0)) }
        )
    }

    static func percent(_ range: ClosedRange<Int>) -> SettingsKind {
        .scalar(
            "a percentage from \(range.lowerBound)% to \(range.upperBound)%",
            schema: SettingsSchema.string("^[0-9]{1,3}%$"),
            read: { text throws(Mismatch) in
                let digits = text.prefix { ("0"..."9").contains($0) }
                guard let number = Int(digits), range.contains(number) else { throw Mismatch() }
                guard text.dropFirst(digits.count) == "%" else {
                    throw Mismatch(hint: text == digits ? "did you mean `\(number)%`?" : nil)
                }
                return number
            },
            write: { .word("\($0)%") }
        )
    }

    static var mode: SettingsKind {
        .scalar(
            "permissions in octal such as \"0660\"",
            schema: SettingsSchema.number(0...777, pattern: "^[0-7]{3,4}$"),
            read: { text throws(Mismatch) in
                guard (3...4).contains(text.utf8.count), let mode = Int(text, radix: 8),
                    (0...0o777).contains(mode)
                else { throw Mismatch() }
                return mode
            },
            write: { mode in
                let digits = String(mode, radix: 8)
                return .text(String(repeating: "0", count: max(0, 4 - digits.count)) + digits)
            }
        )
    }
}

extension SettingsKind where Value == Bool {
    static var boolean: SettingsKind {
        .scalar(
            "`true` or `false` (or `on`, `off`)",
            schema: SettingsSchema.words(["true", "false", "on", "off"]),
            read: { text throws(Mismatch) in
                switch text {
                case "true", "on": return true
                case "false", "off": return false
                default:
                    switch text.lowercased() {
                    case "true", "on", "yes", "y", "1": throw Mismatch(hint: "did you mean `true`?")
                    case "false", "off", "no", "n", "0":
                        throw Mismatch(hint: "did you mean `false`?")
                    default: throw Mismatch()
                    }
                }
            },
            write: { .word($0 ? "true" : "false") }
        )
    }
}

extension Duration {
    var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
