// SPDX-License-Identifier: Apache-2.0
internal import Control
internal import Glibc
internal import Logging
internal import Net

struct LogEntry: Sendable, Equatable {
    var level: Logger.Level
    var message: String

    /// Field names are lower-case words joined by hyphens.
    var fields: [Field] = []

    var time = Self.now

    struct Field: Sendable, Equatable {
        var name: String
        var value: String
    }
}

// MARK: - Forms

extension LogEntry {
    var words: String {
        fields.reduce(into: Self.oneLine(message)) { text, field in
            text += " \(field.name)=\(Self.word(field.value))"
        }
    }

    var text: String { "\(time) \(level): \(words)" }

    var json: String {
        let members = [("time", time), ("level", "\(level)"), ("message", message)]
        let all = members + fields.map { ($0.name, $0.value) }
        return "{" + all.map { "\(Self.quoted($0.0)):\(Self.quoted($0.1))" }.joined(separator: ",")
            + "}"
    }

    /// Line with priority prefix, for a journal that reads standard error (sd-daemon(3)).
    var prefixed: String { "<\(level.priority)>\(words)" }

    /// Fields of systemd.journal-fields(7), and own fields such as `HTTPDNSD_VENDOR`.
    var journalFields: [String] {
        ["MESSAGE=\(words)", "PRIORITY=\(level.priority)", "SYSLOG_IDENTIFIER=\(Product.name)"]
            + fields.map { field in
                let name = field.name.uppercased().map { $0.isASCII && $0.isLetter ? $0 : "_" }
                return "HTTPDNSD_\(String(name))=\(field.value)"
            }
    }
}

// MARK: - Escaping

extension LogEntry {
    /// Escapes characters that end the line, move the cursor or change the text direction (CWE-117,
    /// CWE-150).
    static func oneLine(_ text: String) -> String {
        guard !isPrintableASCII(text), text.unicodeScalars.contains(where: isTreacherous) else {
            return text
        }
        return text.unicodeScalars.map { scalar in
            isTreacherous(scalar) ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
        }.joined()
    }

    private static func word(_ value: String) -> String {
        let isOdd = value.isEmpty || value.utf8.contains(where: " =\"".utf8.contains)
        guard isOdd else { return oneLine(value) }
        let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return "\"" + oneLine(escaped) + "\""
    }

    private static func quoted(_ text: String) -> String {
        "\""
            + text.unicodeScalars.map { scalar in
                switch scalar {
                case "\"": "\\\""
                case "\\": "\\\\"
                case _ where isTreacherous(scalar):
                    String(scalar).utf16.map { unit in
                        let digits = String(unit, radix: 16)
                        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                    }.joined()
                default: String(scalar)
                }
            }.joined() + "\""
    }

    /// A fast check: ``isTreacherous(_:)`` would take a quarter of the time of a failed query.
    private static func isPrintableASCII(_ text: String) -> Bool {
        text.utf8.allSatisfy { 0x20...0x7E ~= $0 }
    }

    private static func isTreacherous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}

// MARK: - Time

extension LogEntry {
    static var now: String {
        let milliseconds = Clock.wallMilliseconds
        var seconds = time_t(milliseconds / 1000)
        var parts = unsafe tm()
        var text = [CChar](repeating: 0, count: 32)
        // SAFETY: strftime writes at most `text.count` octets.
        let count = unsafe strftime(
            &text,
            text.count,
            "%Y-%m-%dT%H:%M:%S%z",
            localtime_r(&seconds, &parts)
        )
        let whole = String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let (time, zone) = (whole.dropLast(5), whole.suffix(5))
        let fraction = String(milliseconds % 1000 + 1000).dropFirst()
        return "\(time).\(fraction)\(zone.prefix(3)):\(zone.dropFirst(3))"
    }
}

extension Logger.Level {
    fileprivate var priority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}
