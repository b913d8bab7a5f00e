// SPDX-License-Identifier: Apache-2.0

/// Error in wire-format data, with the offset in the message at which the error was found.
package enum WireError: Error, Hashable {
    /// The message ends before the end of the field at this offset.
    case truncated(at: Int)

    /// A compression pointer does not point before the labels that it ends (RFC 1035 §4.1.4).
    case forwardPointer(at: Int)

    /// A compression pointer points into the message header.
    case pointerIntoHeader(at: Int)

    /// A name has more than ``WireLimits/pointersPerName`` compression pointers.
    case tooManyPointers(at: Int)

    /// A compression pointer in record data that must not be compressed (RFC 3597 §4, RFC 9460
    /// §2.2).
    case compressedName(at: Int)

    /// A label type other than 00 and 11 (RFC 6891 §5).
    case reservedLabel(at: Int)

    /// The name is longer than 255 octets (RFC 1035 §2.3.4).
    case nameTooLong(at: Int)

    /// Octets follow the end of the data.
    case trailingOctets(at: Int)

    /// Record data has a wrong length or is malformed for its type.
    case badRDATA(at: Int)

    /// An EDNS option overruns the OPT record or is malformed for its code (RFC 6891 §6.1.2).
    case badOption(at: Int)

    /// A second OPT record (RFC 6891 §6.1.1).
    case secondOPT(at: Int)

    /// An OPT record in the answer or authority section (RFC 6891 §6.1.1).
    case misplacedOPT(at: Int)

    /// An OPT record with an owner other than the root (RFC 6891 §6.1.2).
    case namedOPT(at: Int)
}

// MARK: - Reading

extension WireError {
    /// The offset in the message at which the error was found.
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
