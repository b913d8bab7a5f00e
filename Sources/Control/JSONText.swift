// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// Conversion to and from JSON, with the coders of FoundationEssentials.
package enum JSONText {
    /// Encodes `value` with sorted keys.
    ///
    /// - Throws: `EncodingError` for NaN and infinity.
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

    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .custom { FieldName(fieldName($0.last?.stringValue ?? "")) }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }

    /// Decodes UTF-8 text only; Foundation would also accept UTF-16 and UTF-32.
    ///
    /// - Throws: `ProtocolError.notUTF8`, or a `DecodingError`.
    package static func decode<Value: Decodable>(
        _ type: Value.Type,
        from octets: [UInt8]
    ) throws -> Value {
        guard String(validating: octets, as: UTF8.self) != nil else { throw ProtocolError.notUTF8 }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .custom { path in
            // Names without a hyphen need no conversion; a reply can have 100,000 entries.
            guard let key = path.last, key.stringValue.utf8.contains(UInt8(ascii: "-")) else {
                return path.last ?? FieldName("")
            }
            return FieldName(property(key.stringValue))
        }
        return try decoder.decode(type, from: Data(octets))
    }

    // MARK: - Names of fields

    /// Returns the JSON name of a Swift property: `every-seconds` for `everySeconds`.
    ///
    /// Dictionary keys, such as names of vendors, are not converted.
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

    private struct FieldName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }
}
