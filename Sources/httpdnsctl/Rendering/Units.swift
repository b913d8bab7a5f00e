// SPDX-License-Identifier: Apache-2.0
import Control

enum Units {
    static func count(_ value: some BinaryInteger) -> String {
        let digits = String(value.magnitude)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return value < 0 ? "-" + text : text
    }

    static func count(_ value: some BinaryInteger, _ one: String, _ many: String) -> String {
        count(value) + " " + (value == 1 ? one : many)
    }

    static func decimal(_ value: Double, digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        guard value.isFinite, let scaled = Int64(exactly: (value * scale).rounded()) else {
            return "-"
        }
        let whole = String(scaled.magnitude)
        let padded = String(repeating: "0", count: max(0, digits + 1 - whole.count)) + whole
        let sign = scaled < 0 ? "-" : ""
        guard digits > 0 else { return sign + padded }
        return sign + padded.dropLast(digits) + "." + padded.suffix(digits)
    }

    static func money(_ cost: BilledCost) -> String {
        var text = decimal(cost.amount, digits: 9)
        guard text != "-" else { return "- \(cost.currency)" }
        for _ in 0..<7 where text.hasSuffix("0") { text.removeLast() }
        return "\(text) \(cost.currency)"
    }

    static func units(_ units: UInt64, _ cost: BilledCost?) -> String {
        count(units, "unit", "units") + (cost.map { " (\(money($0)))" } ?? "")
    }

    static func range(_ units: BilledUnits) -> String {
        units.atLeast == units.atMost
            ? count(units.atMost) : "\(count(units.atLeast)) to \(count(units.atMost))"
    }

    static func connections(_ opened: UInt64, _ reused: UInt64) -> String {
        "connections: \(count(opened)) opened, \(count(reused, "reuse", "reuses"))"
    }

    static func octets(_ value: UInt64) -> String {
        guard value >= 1024 else { return "\(value) B" }
        var amount = Double(value) / 1024
        var unit = "KiB"
        for larger in ["MiB", "GiB", "TiB"] where amount >= 1023.95 {
            amount /= 1024
            unit = larger
        }
        return decimal(amount, digits: 1) + " " + unit
    }

    static func microseconds(_ value: UInt64) -> String {
        switch value {
        case ..<1000: "\(value) µs"
        case ..<999_950: decimal(Double(value) / 1000, digits: 1) + " ms"
        default: decimal(Double(value) / 1_000_000, digits: 2) + " s"
        }
    }

    static func milliseconds(_ value: Double) -> String {
        guard value.isFinite, value >= 0, value < 1e12 else { return "-" }
        return microseconds(UInt64((value * 1000).rounded()))
    }

    static func seconds(_ value: Int) -> String {
        let units = [(86400, "d"), (3600, "h"), (60, "min"), (1, "s")]
        guard value > 0, let first = units.firstIndex(where: { $0.0 <= value }) else {
            return "\(value) s"
        }
        let (size, unit) = units[first]
        let text = "\(value / size) \(unit)"
        guard first + 1 < units.count, value % size >= units[first + 1].0 else { return text }
        return text + " \(value % size / units[first + 1].0) \(units[first + 1].1)"
    }

    /// Formats a share as `19.4 %`; returns `-` if `whole` is 0.
    static func percent(_ part: UInt64, of whole: UInt64) -> String {
        whole == 0 ? "-" : decimal(Double(part) / Double(whole) * 100, digits: 1) + " %"
    }
}
