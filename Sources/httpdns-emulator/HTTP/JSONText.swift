// SPDX-License-Identifier: Apache-2.0

/// JSON value to send (RFC 8259); faults can set the text of a number to invalid JSON.
enum JSONText: Sendable {
    case string(String)
    case number(String)
    case bool(Bool)
    case array([JSONText])
    case object([(name: String, value: JSONText)])

    var text: String {
        switch self {
        case .string(let text): "\"" + text.unicodeScalars.map(Self.escaped).joined() + "\""
        case .number(let text): text
        case .bool(let value): value ? "true" : "false"
        case .array(let values): "[" + values.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.map { JSONText.string($0.name).text + ":" + $0.value.text }
                .joined(separator: ",") + "}"
        }
    }

    static func strings(_ texts: [String]) -> JSONText { .array(texts.map { .string($0) }) }
    static func number(_ number: Int) -> JSONText { .number(String(number)) }

    /// Returns the character, escaped if necessary (RFC 8259 §7).
    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\"", "\\": "\\" + String(scalar)
        case "\u{0}"..<"\u{20}":
            "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
        default: String(scalar)
        }
    }
}

extension JSONText: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
    init(stringLiteral value: String) { self = .string(value) }

    init(dictionaryLiteral elements: (String, JSONText)...) {
        self = .object(elements.map { ($0.0, $0.1) })
    }
}

extension Response {
    init(status: Int = 200, json: JSONText, type: String = "application/json; charset=utf-8") {
        self.init(status: status, text: json.text, type: type)
    }
}
