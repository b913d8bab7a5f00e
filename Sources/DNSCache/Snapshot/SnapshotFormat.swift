// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Format of a snapshot file, in network byte order.
///
///     file   = signature, version (16 bits), block...
///     block  = kind (8), length (32), CRC-32C of kind, length and payload (32), payload
///     header = time of writing in seconds since 1970 (64),
///              { digest of a setting (64), length (8), setting name in UTF-8 }...; once, first
///     names  = { server (16), length (8), name in UTF-8 }...; before the entries that need them
///     entries = { type (16), variant (8), RCODE (8), source (8), flags (8), server (16),
///                 age (32), lifetime (32), stale window (32), refresh after (32), hits (32),
///                 ANCOUNT (16), NSCOUNT (16), ARCOUNT (16), octets of the records (16),
///                 name in wire form, records }...; oldest first
///     end    = total number of entries (64); once, last
enum SnapshotFormat {
    /// Contains line ends, which a transfer in text mode would change (as in PNG).
    static let mark: [UInt8] = [0x89, 0x48, 0x44, 0x4E, 0x53, 0x0D, 0x0A, 0x1A]

    static let version: UInt16 = 3

    static let versions: ClosedRange<UInt16> = 1...3

    static let versionWithDigests: UInt16 = 3

    static var prologueOctets: Int { mark.count + 2 }

    static var blockHeaderOctets: Int { 9 }

    /// The writer holds the lock of the cache for about 50 µs per block.
    static let block: (octets: Int, entries: Int) = (64 << 10, 256)

    /// Octets of a block with `block.octets`, plus one entry of the maximum size.
    static let largestPayload = 160 << 10

    /// The writer truncates longer names.
    static let nameOctets = 255

    enum Kind: UInt8 {
        case header = 0x48
        case names = 0x4E
        case entries = 0x45
        case end = 0x5A
    }

    static let isInDemand: UInt8 = 1

    static let isAuthentic: UInt8 = 2

    static func flags(ofVersion version: UInt16) -> UInt8 {
        version == 1 ? isInDemand : isInDemand | isAuthentic
    }

    static func block(_ kind: Kind, _ payload: [UInt8]) -> [UInt8] {
        var block = [kind.rawValue]
        block.reserveCapacity(blockHeaderOctets + payload.count)
        block.append(bigEndian: UInt32(payload.count))
        block.append(bigEndian: checksum(kind.rawValue, payload))
        block += payload
        return block
    }

    static func checksum(_ kind: UInt8, _ payload: [UInt8]) -> UInt32 {
        var head = [kind]
        head.append(bigEndian: UInt32(payload.count))
        var sum = CRC32C()
        sum.add(head)
        sum.add(payload)
        return sum.value
    }
}

/// Error in a snapshot, with its offset in the file.
package enum SnapshotError: Error, Equatable {
    case notASnapshot(at: Int)

    case version(UInt16, at: Int)

    case truncated(at: Int)

    case tooLong(at: Int)

    case checksum(at: Int)

    /// Block of an unknown kind, or in the wrong place.
    case strangeBlock(at: Int)

    case badBlock(at: Int)

    case badEntry(at: Int)

    case wrongCount(at: Int)

    case trailingOctets(at: Int)

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
            case .notASnapshot: "not a cache snapshot"
            case .version(let version, _): "unsupported snapshot version \(version)"
            case .truncated: "truncated snapshot"
            case .tooLong: "block too long"
            case .checksum: "wrong checksum of a block"
            case .strangeBlock: "unexpected block"
            case .badBlock: "malformed block"
            case .badEntry: "malformed entry"
            case .wrongCount: "wrong number of entries"
            case .trailingOctets: "data after the end"
            }
        return "\(fault), at octet \(offset)"
    }
}
