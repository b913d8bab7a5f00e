// SPDX-License-Identifier: Apache-2.0

/// Error in a message, with its offset.
package enum WireError: Error, Hashable {
    case truncated(at: Int)

    /// Pointer that does not lead to an earlier name (RFC 1035 §4.1.4).
    case forwardPointer(at: Int)

    case pointerIntoHeader(at: Int)
    case tooManyPointers(at: Int)

    /// Forbidden pointer (RFC 3597 §4, RFC 9460 §2.2).
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
