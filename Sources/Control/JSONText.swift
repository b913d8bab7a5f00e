// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials

/// JSON text from values and back, the one place that meets Foundation.
package enum JSONText {
    /// The JSON of `value`, with sorted keys so that equal values give equal text.
    ///
    /// - Throws: `EncodingError` for a number JSON has no form for (NaN, infinity).
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

    /// Reads a value of the given type.
    ///
    /// UTF-8 is demanded before Foundation sees the octets, as it would guess UTF-16 and UTF-32.
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
