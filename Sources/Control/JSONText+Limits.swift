// SPDX-License-Identifier: Apache-2.0

extension JSONText {
    /// Checks the nesting and the number of values of a message before the message is decoded.
    ///
    /// Decoding is slow, because ``JSONValue`` tries several types.
    static func checkSize(
        of octets: [UInt8],
        maximumNesting: Int = ControlLimits.nesting,
        maximumValues: Int = .max
    ) throws(ProtocolError) {
        var depth = 0
        var values = 1
        var isInString = false
        var isEscaped = false
        for octet in octets {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else {
                    isEscaped = octet == UInt8(ascii: "\\")
                    isInString = octet != UInt8(ascii: "\"")
                }
                continue
            }
            switch octet {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                values += 1
                guard depth <= maximumNesting else {
                    throw .malformed(reason: "nested deeper than \(maximumNesting) levels")
                }
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            case UInt8(ascii: ","): values += 1
            default: continue
            }
            guard values <= maximumValues else {
                throw .malformed(reason: "more than \(maximumValues) values")
            }
        }
    }
}
