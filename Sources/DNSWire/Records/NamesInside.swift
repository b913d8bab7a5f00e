// SPDX-License-Identifier: Apache-2.0

/// Where the names are in types that this house does not look into but that may be compressed.
///
/// A pointer is worth nothing outside its message, so such names must be written out before the
/// data is kept or sent on.  These are the remaining types of RFC 1035 and those RFC 3597 §4 asks to
/// decompress; in all others a pointer is just two octets.
struct NamesInside {
    /// The parts of the data, in order.
    private let parts: [Part]

    /// One part of the data.
    private enum Part {
        /// A domain name.
        case name
        /// So many octets.
        case octets(Int)
        /// A `<character-string>`.
        case string
        /// All that is left, maybe nothing.
        case rest
    }

    /// The parts of `type`, or nil if it has no names that may be compressed.
    init?(type: RecordType, recordClass: RecordClass) {
        switch (type.rawValue, recordClass) {
        case (3, _), (4, _), (7, _), (8, _), (9, _):  // MD MF MB MG MR
            parts = [.name]
        case (14, _), (17, _):  // MINFO RP
            parts = [.name, .name]
        case (18, _), (21, _):  // AFSDB RT
            parts = [.octets(2), .name]
        case (24, _):  // SIG
            parts = [.octets(18), .name, .rest]
        case (26, .in):  // PX
            parts = [.octets(2), .name, .name]
        case (30, _):  // NXT
            parts = [.name, .rest]
        case (35, .in):  // NAPTR
            parts = [.octets(4), .string, .string, .string, .name]
        default:
            return nil
        }
    }

    /// Reads the field the reader is in and returns it with its names written out.
    func expand(_ reader: inout WireReader) throws(WireError) -> [UInt8] {
        var octets: [UInt8] = []
        for part in parts {
            switch part {
            case .name: octets.append(contentsOf: try reader.name().octets)
            case .octets(let count): octets.append(contentsOf: try reader.octets(count))
            case .string:
                let string = try reader.characterString()
                octets.append(UInt8(string.count))
                octets.append(contentsOf: string)
            case .rest: octets.append(contentsOf: reader.rest())
            }
        }
        return octets
    }
}
