// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// Conversion of values to and from JSON text; the only code of this module that uses Foundation.
package enum JSONText {
    /// Returns the JSON of `value`, with sorted keys so that equal values have equal text.
    ///
    /// - Throws: `EncodingError` for a number without a JSON form (NaN, infinity).
    package static func encode(_ value: some Encodable, indented: Bool = false) throws -> [UInt8] {
        if !indented, let value = value as? any JSONWritable {
            var writer = JSONWriter()
            value.write(to: &writer)
            return writer.octets
        }
        let encoder = encoder
        if indented { encoder.outputFormatting.insert(.prettyPrinted) }
        return [UInt8](try encoder.encode(value))
    }

    /// Encoder of values that do not write themselves.
    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .custom { FieldName(fieldName($0.last?.stringValue ?? "")) }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    /// Decodes a value of the given type.
    ///
    /// Only UTF-8 is accepted; Foundation alone would also detect UTF-16 and UTF-32.
    ///
    /// - Throws: `ProtocolError.notUTF8`, or a `DecodingError`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from octets: [UInt8]
    ) throws -> Value {
        guard String(validating: octets, as: UTF8.self) != nil else { throw ProtocolError.notUTF8 }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in
            // Most names have one word; this matters for 100,000 cache entries.
            guard let key = path.last, key.stringValue.utf8.contains(UInt8(ascii: "-")) else {
                return path.last ?? FieldName("")
            }
            return FieldName(property(key.stringValue))
        }
        return try decoder.decode(type, from: Data(octets))
    }

    // MARK: - Names of fields

    /// Returns the JSON name of a property: `everySeconds` is `every-seconds`.
    ///
    /// Foundation converts no keys of dictionaries, such as names of vendors.
    package static func fieldName(_ property: String) -> String {
        var name = ""
        for character in property {
            if character.isUppercase, name.last.map({ !$0.isUppercase }) ?? false {
                name += "-" + character.lowercased()
            } else {
                name.append(character)
            }
        }
        return name
    }

    private static func property(_ fieldName: String) -> String {
        var words = fieldName.split(separator: "-", omittingEmptySubsequences: false)
        let first = words.removeFirst()
        return words.reduce(into: String(first)) { name, word in
            name += word.prefix(1).uppercased() + word.dropFirst()
        }
    }

    /// Key of a converted name.
    private struct FieldName: CodingKey {
        let stringValue: String

        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }

        init?(stringValue: String) { self.init(stringValue) }

        init?(intValue: Int) { nil }
    }
}
