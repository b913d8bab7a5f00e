// SPDX-License-Identifier: Apache-2.0

/// The shape of a snapshot: a mark, then blocks, the last of which says that it is the last.
///
///     file   = mark, version (16 bits), block...
///     block  = kind (8), length (32), CRC-32C of kind, length and payload (32), payload
///     header = seconds since 1970 at which it was written (64); once, first
///     names  = { server (16), length (8), name in UTF-8 }...; before the entries that need them
///     entries = { type (16), variant (8), RCODE (8), source (8), flags (8), server (16),
///                 age (32), lifetime (32), stale window (32), refresh after (32), hits (32),
///                 ANCOUNT (16), NSCOUNT (16), ARCOUNT (16), octets of the records (16),
///                 name in wire form, records }...; by rising age of storing
///     end    = number of entries in all (64); once, last
///
/// Numbers are most significant octet first.  TTL offsets are not there: they are found again while
/// the records are read, so no file can make the cache write where no TTL is.
enum SnapshotFormat {
    /// The first octets; the odd ones tell what a transfer as text does to a file, as PNG's do.
    static let mark: [UInt8] = [0x89, 0x48, 0x44, 0x4E, 0x53, 0x0D, 0x0A, 0x1A]

    /// The version that is written; from 2 on entries say whether they were validated.
    static let version: UInt16 = 2

    /// The versions that are read: an entry of version 1 was validated by nobody.
    static let versions: ClosedRange<UInt16> = 1...2

    /// Octets of mark and version.
    static var prologueOctets: Int { mark.count + 2 }

    /// Octets of a block before its payload.
    static var blockHeaderOctets: Int { 9 }

    /// Payload beyond which no more entries are put into a block, and the most entries in one: so
    /// long the cache is locked, some 50 µs.
    static let block: (octets: Int, entries: Int) = (64 << 10, 256)

    /// The largest payload that a reader takes: such a block and the largest entry.
    static let largestPayload = 160 << 10

    /// Octets of a server's name; what is longer is cut.
    static let nameOctets = 255

    /// What a block is.
    enum Kind: UInt8 {
        case header = 0x48
        case names = 0x4E
        case entries = 0x45
        case end = 0x5A
    }

    /// Flag of an entry: it was asked for since it was last spared.
    static let isInDemand: UInt8 = 1

    /// Flag of an entry: its records were validated (AD); unknown to version 1.
    static let isAuthentic: UInt8 = 2

    /// The flags that entries of a version may have.
    static func flags(ofVersion version: UInt16) -> UInt8 {
        version == 1 ? isInDemand : isInDemand | isAuthentic
    }

    /// A block with its checksum.
    static func block(_ kind: Kind, _ payload: [UInt8]) -> [UInt8] {
        var block = [kind.rawValue]
        block.reserveCapacity(blockHeaderOctets + payload.count)
        block.append(bigEndian: UInt32(payload.count))
        block.append(bigEndian: checksum(kind.rawValue, payload))
        block += payload
        return block
    }

    /// The checksum of a block: of its payload behind its kind and length.
    static func checksum(_ kind: UInt8, _ payload: [UInt8]) -> UInt32 {
        var head = [kind]
        head.append(bigEndian: UInt32(payload.count))
        var sum = CRC32C()
        sum.add(head)
        sum.add(payload)
        return sum.value
    }
}

/// What is wrong with a snapshot, and at which octet of the file the fault, or its block, begins.
package enum SnapshotError: Error, Equatable {
    /// It does not begin as snapshots do.
    case notASnapshot(at: Int)

    /// Another version than this program writes.
    case version(UInt16, at: Int)

    /// It ends before its end mark, inside what begins here.
    case truncated(at: Int)

    /// A block says that it is longer than any is.
    case tooLong(at: Int)

    /// A block is not as it was written.
    case checksum(at: Int)

    /// A block of no known kind, or one where it does not belong.
    case strangeBlock(at: Int)

    /// A block does not hold what its kind promises.
    case badBlock(at: Int)

    /// An entry that the cache would not have written.
    case badEntry(at: Int)

    /// The end mark does not count the entries that came.
    case wrongCount(at: Int)

    /// Something follows the end mark.
    case trailingOctets(at: Int)

    /// The octet of the file.
    package var offset: Int {
        switch self {
        case .notASnapshot(let offset), .version(_, let offset), .truncated(let offset),
            .tooLong(let offset), .checksum(let offset), .strangeBlock(let offset),
            .badBlock(let offset), .badEntry(let offset), .wrongCount(let offset),
            .trailingOctets(let offset):
            offset
        }
    }
}

extension SnapshotError: CustomStringConvertible {
    package var description: String {
        let fault =
            switch self {
            case .notASnapshot: "not a snapshot of the cache"
            case .version(let version, _): "a snapshot of version \(version)"
            case .truncated: "the snapshot ends too early"
            case .tooLong: "a block is too long"
            case .checksum: "a checksum is wrong"
            case .strangeBlock: "a block does not belong there"
            case .badBlock: "a block cannot be read"
            case .badEntry: "an entry cannot be read"
            case .wrongCount: "entries are missing"
            case .trailingOctets: "something follows the end"
            }
        return "\(fault), at octet \(offset)"
    }
}

extension [UInt8] {
    /// Appends a number, most significant octet first.
    mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        var shift = Number.bitWidth
        while shift > 0 {
            shift -= 8
            append(UInt8(truncatingIfNeeded: number >> Number(shift)))
        }
    }
}
