// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// The bounds that the settings put on TTLs, and what follows from them for an answer's lifetime.
package struct TTLPolicy: Sendable, Equatable {
    /// Seconds; the default changes nothing (RFC 2181 §8 bounds a TTL at 2³¹ - 1).
    package var positive: ClosedRange<UInt32> = 0...86_400

    /// Seconds for which a denial is kept (RFC 2308 §5 suggests one to three hours at most).
    package var negative: ClosedRange<UInt32> = 5...300

    package init() {}

    /// The same, but it lengthens nothing.
    var withoutLowerBounds: TTLPolicy {
        var policy = self
        policy.positive = 0...positive.upperBound
        policy.negative = 0...negative.upperBound
        return policy
    }

    /// `records` with their TTLs within bounds, each RRset with its lowest one (RFC 2181 §5.2).
    func clamped(_ records: [Record]) -> [Record] {
        if records.count == 1 {
            var record = records[0]
            record.ttl = clamp(record.ttl, to: positive)
            return [record]
        }
        var lowest: [RRsetKey: UInt32] = [:]
        for record in records {
            lowest[RRsetKey(record)] = min(lowest[RRsetKey(record)] ?? .max, record.ttl)
        }
        return records.map { record in
            var record = record
            record.ttl = clamp(lowest[RRsetKey(record)] ?? record.ttl, to: positive)
            return record
        }
    }

    /// Seconds for which a positive answer of these records may be kept.
    func lifetime(_ answers: [Record]) -> UInt32 {
        answers.map(\.ttl).min() ?? 0
    }

    /// Seconds for which a denial with this SOA may be kept: RFC 2308 §5.
    func lifetime(_ soa: Record) -> UInt32 {
        guard case .soa(let data) = soa.data else { return negative.lowerBound }
        return clamp(min(soa.ttl, data.minimum), to: negative)
    }

    /// `seconds`, or the nearest bound.
    func clamp(_ seconds: UInt32, to range: ClosedRange<UInt32>) -> UInt32 {
        min(max(seconds, range.lowerBound), range.upperBound)
    }

    /// What makes records one RRset (RFC 2181 §5); signatures over different types are different.
    private struct RRsetKey: Hashable {
        let name: Name
        let type: RecordType
        let covered: [UInt8]

        init(_ record: Record) {
            name = record.name
            type = record.type
            if record.type == .rrsig, case .opaque(let octets) = record.data {
                covered = Array(octets.prefix(2))
            } else {
                covered = []
            }
        }
    }
}

extension Record {
    /// The SOA of a denial that nobody else vouches for, so that the client may cache it
    /// (RFC 2308 §5).
    ///
    /// It names no server: there is none for what a vendor does not have.
    static func syntheticSOA(_ zone: Name, seconds: UInt32) -> Record {
        Record(
            name: zone,
            type: .soa,
            recordClass: .in,
            ttl: seconds,
            data: .soa(
                SOA(
                    primary: .localhost,
                    mailbox: .nobody,
                    serial: 1,
                    refresh: 3_600,
                    retry: 1_200,
                    expire: 604_800,
                    minimum: seconds
                )
            )
        )
    }
}

extension Name {
    /// A name in the source, which is known to be one.
    init(literal: StaticString) {
        do {
            try self.init("\(literal)")
        } catch {
            preconditionFailure("\(literal) is a name")
        }
    }

    static let localhost = Name(literal: "localhost")
    static let nobody = Name(literal: "nobody.invalid")
}
