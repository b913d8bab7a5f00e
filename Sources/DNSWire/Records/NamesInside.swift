// SPDX-License-Identifier: Apache-2.0

/// Positions of compressible names in the RDATA of a type (RFC 1035, RFC 3597 §4).
struct NamesInside {
    private let parts: [Part]

    private enum Part {
        case name
        case octets(Int)
        case string
        case rest
    }

    /// Creates the layout of `type`; nil if names in this type cannot be compressed.
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
        case (35, .in):  // NAPTR (RFC 3403 §4)
            parts = [.octets(4), .string, .string, .string, .name]
        case (39, _):  // DNAME (RFC 6672 §2.5 forbids compression; other servers also accept it)
            parts = [.name]
        default: return nil
        }
    }

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
