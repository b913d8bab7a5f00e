// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
package import DNSWire
internal import Net
package import Resolver

/// Record of a query and its answer in a `RecordRing`.
///
/// The record has 32 numbers of 64 bits (words):
///
///     word 0    arrival: nanoseconds after the instant `RecentQueries.origin`
///          1    latency in µs (32 bits) | type (16) | identifier `origin` (16)
///          2    octets of the name (8) | address family (8) | flags (8) | transport (8)
///               | `source` (8) | `fallback` (8) | RCODE (16)
///          3-4  IPv6 client: address; IPv4 client: `times` - 1 (word 3), address (word 4)
///          5-31 name in wire form and original case; cut after 216 octets
package struct QueryRecord {
    static let nameOctets = RecordRing.textOctets

    private static let firstNameWord = 5

    package var arrival: UInt64
    package var microseconds: UInt32
    package var type: UInt16

    /// Number, in `AnswerSourceRegistry`, of the vendor server or upstream that gave the answer.
    package var origin: UInt16

    package var rcode: UInt16
    package var source: QuerySource
    package var transport: QueryTransport
    package var flags: Flags
    package var fallback: Provenance.Fallback?
    package var client: IPAddress

    var nameCount: Int

    /// Number of equal queries; 1 for an IPv6 client: its record has no space for this number.
    package var times: UInt64 = 1

    package struct Flags: OptionSet {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        package static let empty = Flags(rawValue: 1)
        static let truncated = Flags(rawValue: 2)

        /// The query shared the resolution of an equal query.
        static let merged = Flags(rawValue: 4)

        static let refreshed = Flags(rawValue: 8)

        package static let names: [(flag: Flags, name: String)] = [
            (.truncated, "truncated"), (.merged, "merged"), (.refreshed, "refreshed"),
        ]
    }
}

// MARK: - Writing

extension QueryRecord {
    init(
        _ facts: QueryFacts,
        _ hit: CacheHit,
        over transport: QueryTransport,
        from client: IPAddress,
        arrival: UInt64,
        microseconds: UInt32
    ) {
        self.arrival = arrival
        self.microseconds = microseconds
        type = facts.type.rawValue
        origin = hit.server
        rcode = UInt16(hit.rcode)
        source = .cache
        self.transport = transport
        flags = hit.isEmpty ? .empty : []
        if hit.isTruncated { flags.insert(.truncated) }
        if hit.wantsRefresh { flags.insert(.refreshed) }
        fallback = nil
        self.client = client
        nameCount = facts.nameEnd - QueryFacts.headerCount
    }

    /// Writes the record to place `offset` of the reserved places.
    func write(to ring: RecordRing, _ offset: Int, name: RawSpan) {
        let what = UInt64(microseconds) << 32 | UInt64(type) << 16 | UInt64(origin)
        let (family, high, low): (UInt64, UInt64, UInt64) =
            switch client {
            case .v4(let address): (4, times - 1, UInt64(address.value))
            case .v6(let address): (6, address.high, address.low)
            }
        var numbers = UInt64(nameCount) << 56 | family << 48 | UInt64(flags.rawValue) << 40
        numbers |= UInt64(transport.rawValue) << 32 | UInt64(source.rawValue) << 24
        numbers |= UInt64(fallback?.rawValue ?? 0) << 16 | UInt64(rcode)
        ring.write((arrival, what, numbers, high, low), name, ofNext: offset)
    }
}

// MARK: - Reading

extension QueryRecord {
    package init?(_ words: ArraySlice<UInt64>) {
        guard words.count == RecordRing.wordCount else { return nil }
        let word = { words[words.startIndex + $0] }
        let numbers = word(2)
        guard let source = QuerySource(rawValue: Int(numbers >> 24 & 0xFF)),
            let transport = QueryTransport(rawValue: Int(numbers >> 32 & 0xFF))
        else { return nil }
        arrival = word(0)
        microseconds = UInt32(word(1) >> 32)
        type = UInt16(truncatingIfNeeded: word(1) >> 16)
        origin = UInt16(truncatingIfNeeded: word(1))
        rcode = UInt16(truncatingIfNeeded: numbers)
        self.source = source
        self.transport = transport
        flags = Flags(rawValue: UInt8(numbers >> 40 & 0xFF))
        fallback = Provenance.Fallback(rawValue: UInt8(numbers >> 16 & 0xFF))
        client =
            numbers >> 48 & 0xFF == 4
            ? .v4(IPv4Address(value: UInt32(truncatingIfNeeded: word(4))))
            : .v6(IPv6Address(high: word(3), low: word(4)))
        nameCount = Int(numbers >> 56)
        times = numbers >> 48 & 0xFF == 4 ? word(3) &+ 1 : 1
    }

    /// Returns the name, or the first labels of a cut name.
    package func name(_ words: ArraySlice<UInt64>) -> Name {
        var octets: [UInt8] = []
        let kept = min(nameCount, Self.nameOctets)
        octets.reserveCapacity(kept + 1)
        for index in 0..<kept {
            let word = words[words.startIndex + Self.firstNameWord + index / 8]
            octets.append(UInt8(truncatingIfNeeded: word >> (8 * UInt64(index % 8))))
        }
        if isCut {
            var whole = 0
            while whole < kept, whole + 1 + Int(octets[whole]) <= kept {
                whole += 1 + Int(octets[whole])
            }
            octets.removeSubrange(whole...)
            octets.append(0)
        }
        return (try? Name(wire: octets)) ?? .root
    }

    package var isCut: Bool { nameCount > Self.nameOctets }
}
