// SPDX-License-Identifier: Apache-2.0

/// What is wrong with octets from the wire, and at which octet of the message it was seen.
package enum WireError: Error, Hashable {
    /// The message ends before the field that starts or continues here.
    case truncated(at: Int)

    /// A compression pointer does not lead before the run of labels it ends (RFC 1035 §4.1.4).
    case forwardPointer(at: Int)

    /// A compression pointer leads into the message header, where no name can be.
    case pointerIntoHeader(at: Int)

    /// A name follows more than ``WireLimits/pointersPerName`` pointers.
    case tooManyPointers(at: Int)

    /// A compression pointer where names must be written out (RFC 3597 §4, RFC 9460 §2.2).
    case compressedName(at: Int)

    /// A label type other than 00 and 11 (RFC 6891 §5).
    case reservedLabel(at: Int)

    /// The name is longer than 255 octets (RFC 1035 §2.3.4).
    case nameTooLong(at: Int)

    /// Octets follow what should be the end.
    case trailingOctets(at: Int)

    /// Record data is too short, too long or not of its type's form.
    case badRDATA(at: Int)

    /// An EDNS option overruns the OPT record or is not of its code's form (RFC 6891 §6.1.2).
    case badOption(at: Int)

    /// A second OPT record (RFC 6891 §6.1.1).
    case secondOPT(at: Int)

    /// An OPT record in the answer or authority section (RFC 6891 §6.1.1).
    case misplacedOPT(at: Int)

    /// An OPT record whose owner is not the root (RFC 6891 §6.1.2).
    case namedOPT(at: Int)
}

// MARK: - Reading

extension WireError {
    /// The octet of the message at which the fault was seen.
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
        case .truncated(let offset): "the message is cut at octet \(offset)"
        case .forwardPointer(let offset): "pointer at octet \(offset) does not lead backwards"
        case .pointerIntoHeader(let offset): "pointer at octet \(offset) leads into the header"
        case .tooManyPointers(let offset): "too many pointers in one name at octet \(offset)"
        case .compressedName(let offset): "compressed name at octet \(offset)"
        case .reservedLabel(let offset): "label of a reserved type at octet \(offset)"
        case .nameTooLong(let offset): "name over 255 octets at octet \(offset)"
        case .trailingOctets(let offset): "octets after the end, from octet \(offset)"
        case .badRDATA(let offset): "malformed record data at octet \(offset)"
        case .badOption(let offset): "malformed EDNS option at octet \(offset)"
        case .secondOPT(let offset): "a second OPT record at octet \(offset)"
        case .misplacedOPT(let offset): "OPT outside the additional section at octet \(offset)"
        case .namedOPT(let offset): "OPT with an owner other than the root at octet \(offset)"
        }
    }
}
