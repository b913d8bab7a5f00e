// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net
internal import Resolver

/// A query and its answer, as a `RecordRing` keeps them.
///
///     word 0    arrival, nanoseconds since the origin of `RecentQueries`
///          1    time to the answer in µs (32 bits) | type (16) | origin (16)
///          2    octets of the name | family of the client | flags | transport | source | fallback
///               | RCODE (16)
///          3-4  the client's address; of IPv4 in word 4, with the queries but one that are meant in 3
///          5-31 the name in wire form, the case of its letters as it came; cut after 216 octets
struct QueryRecord {
    /// Octets of a name that are kept: longer ones are seen in attacks only.
    static let nameOctets = RecordRing.textOctets

    private static let firstNameWord = 5

    var arrival: UInt64
    var microseconds: UInt32
    var type: UInt16

    /// Who gave the answer, also if the cache kept it; see `Origins`.
    var origin: UInt16

    var rcode: UInt16
    var source: QuerySource
    var transport: QueryTransport
    var flags: Flags
    var fallback: Provenance.Fallback?
    var client: IPAddress

    /// The name's octets, of which `nameOctets` are kept.
    var nameCount: Int

    /// Queries of this kind that are meant, all from IPv4 if they are several.
    var times: UInt64 = 1

    /// What is to be said of an answer besides.
    struct Flags: OptionSet {
        let rawValue: UInt8

        /// No records: NODATA if the RCODE is 0.
        static let empty = Flags(rawValue: 1)
        static let truncated = Flags(rawValue: 2)

        /// Another client's wait brought the answer.
        static let merged = Flags(rawValue: 4)

        /// It was a hit that had the answer asked for anew.
        static let refreshed = Flags(rawValue: 8)

        /// Names of the flags that a client is told.
        static let names: [(flag: Flags, name: String)] = [
            (.truncated, "truncated"), (.merged, "merged"), (.refreshed, "refreshed"),
        ]
    }
}

// MARK: - Writing

extension QueryRecord {
    /// A query that the cache answered.
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

    /// Writes this as the next record but `offset` of `ring`; `name` is in wire form.
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
    /// Reads a record; nil if it is none, as one that was written over while it was copied may be.
    init?(_ words: ArraySlice<UInt64>) {
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

    /// The name in the record `words`; of one that was cut, its first labels.
    func name(_ words: ArraySlice<UInt64>) -> Name {
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

    /// Whether the end of the name is missing.
    var isCut: Bool { nameCount > Self.nameOctets }
}
