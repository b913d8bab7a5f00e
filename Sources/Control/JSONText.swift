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
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if indented { encoder.outputFormatting.insert(.prettyPrinted) }
        return [UInt8](try encoder.encode(value))
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
        return try JSONDecoder().decode(type, from: Data(octets))
    }
}
