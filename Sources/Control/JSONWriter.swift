// SPDX-License-Identifier: Apache-2.0

/// JSON serializer for large replies, without Codable.
///
/// If the caller writes members in alphabetical order, the result equals that of ``JSONText``.
package struct JSONWriter {
    package private(set) var octets: [UInt8] = []
    private var isFirst = true

    // MARK: - Objects and lists

    package mutating func object(_ body: (inout JSONWriter) -> Void) {
        enclose(UInt8(ascii: "{"), UInt8(ascii: "}"), body)
    }

    package mutating func list<Value>(
        _ values: [Value],
        _ write: (inout JSONWriter, Value) -> Void
    ) {
        enclose(UInt8(ascii: "["), UInt8(ascii: "]")) { writer in
            for value in values {
                writer.separate()
                write(&writer, value)
            }
        }
    }

    /// Omits a value that is nil.
    package mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        self.name(name)
        self.value(value)
    }

    package mutating func member(_ name: String, _ value: some BinaryInteger) {
        self.name(name)
        self.value(value)
    }

    /// The caller then writes the value.
    package mutating func name(_ name: String) {
        separate()
        octets.append(UInt8(ascii: "\""))
        octets.append(contentsOf: name.utf8)
        octets.append(UInt8(ascii: "\""))
        octets.append(UInt8(ascii: ":"))
    }

    // MARK: - Values

    package mutating func value(_ value: Bool) {
        octets.append(contentsOf: (value ? "true" : "false").utf8)
    }

    package mutating func value(_ value: some BinaryInteger) {
        octets.append(contentsOf: "\(value)".utf8)
    }

    package mutating func value(_ value: String) {
        octets.append(UInt8(ascii: "\""))
        for octet in value.utf8 {
            switch octet {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                octets.append(UInt8(ascii: "\\"))
                octets.append(octet)
            case 0..<0x20: octets.append(contentsOf: Self.escape(octet).utf8)
            default: octets.append(octet)
            }
        }
        octets.append(UInt8(ascii: "\""))
    }

    // MARK: - Private

    private mutating func enclose(
        _ start: UInt8,
        _ end: UInt8,
        _ body: (inout JSONWriter) -> Void
    ) {
        octets.append(start)
        isFirst = true
        body(&self)
        octets.append(end)
        isFirst = false
    }

    private mutating func separate() {
        if !isFirst { octets.append(UInt8(ascii: ",")) }
        isFirst = false
    }

    private static func escape(_ octet: UInt8) -> String {
        switch octet {
        case 0x08: return "\\b"
        case 0x09: return "\\t"
        case 0x0A: return "\\n"
        case 0x0C: return "\\f"
        case 0x0D: return "\\r"
        default:
            let digits = String(octet, radix: 16)
            return (digits.count == 1 ? "\\u000" : "\\u00") + digits
        }
    }
}

package protocol JSONWritable: Encodable {
    func write(to writer: inout JSONWriter)
}
