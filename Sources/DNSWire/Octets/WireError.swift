// SPDX-License-Identifier: Apache-2.0

/// Error in a message, with its offset.
package enum WireError: Error, Hashable {
    case truncated(at: Int)

    /// Pointer that leads forwards, or to the labels just before the pointer (RFC 1035 §4.1.4).
    case forwardPointer(at: Int)

    case pointerIntoHeader(at: Int)
    case tooManyPointers(at: Int)

    /// Pointer where compression is forbidden (RFC 3597 §4, RFC 9460 §2.2).
    case compressedName(at: Int)

    /// Label type other than 00 and 11 (RFC 6891 §5).
    case reservedLabel(at: Int)

    case nameTooLong(at: Int)
    case trailingOctets(at: Int)
    case badRDATA(at: Int)
    case badOption(at: Int)
    case secondOPT(at: Int)
    case misplacedOPT(at: Int)
    case namedOPT(at: Int)
}

// MARK: - Reading

extension WireError {
    package var offset: Int {
        switch self {
        case .truncated(let offset), .forwardPointer(let offset), .pointerIntoHeader(let offset),
            .tooManyPointers(let offset), .compressedName(let offset), .reservedLabel(let offset),
            .nameTooLong(let offset), .trailingOctets(let offset), .badRDATA(let offset),
            .badOption(let offset), .secondOPT(let offset), .misplacedOPT(let offset),
            .namedOPT(let offset):
            offset
        }
    }
}

// MARK: - Conformances

extension WireError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated(let offset): "message truncated at octet \(offset)"
        case .forwardPointer(let offset):
            "compression pointer at octet \(offset) does not point backwards"
        case .pointerIntoHeader(let offset):
            "compression pointer at octet \(offset) points into the header"
        case .tooManyPointers(let offset):
            "too many compression pointers in the name at octet \(offset)"
        case .compressedName(let offset): "forbidden name compression at octet \(offset)"
        case .reservedLabel(let offset): "reserved label type at octet \(offset)"
        case .nameTooLong(let offset): "name longer than 255 octets at octet \(offset)"
        case .trailingOctets(let offset): "trailing octets at octet \(offset)"
        case .badRDATA(let offset): "malformed record data at octet \(offset)"
        case .badOption(let offset): "malformed EDNS option at octet \(offset)"
        case .secondOPT(let offset): "second OPT record at octet \(offset)"
        case .misplacedOPT(let offset):
            "OPT record outside the additional section at octet \(offset)"
        case .namedOPT(let offset):
            "OPT record with an owner other than the root at octet \(offset)"
        }
    }
}
