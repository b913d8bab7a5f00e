// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// TTL bounds of the settings, which determine how long answers are cached.
package struct TTLPolicy: Sendable, Equatable {
    /// Bounds, in seconds, of the TTLs of positive answers; RFC 2181 §8 limits a TTL to 2³¹ - 1.
    package var positive: ClosedRange<UInt32> = 0...86_400

    /// Bounds, in seconds, of the TTLs of negative answers; RFC 2308 §5 suggests a maximum of one
    /// to three hours.
    package var negative: ClosedRange<UInt32> = 5...300

    package init() {}

    func of(_ match: RouteTable.Match?) -> TTLPolicy {
        guard let options = match?.route.options else { return self }
        var policy = self
        let maximum = options.maximumTTL ?? positive.upperBound
        policy.positive = min(options.minimumTTL ?? positive.lowerBound, maximum)...maximum
        return policy
    }

    var withoutLowerBounds: TTLPolicy {
        var policy = self
        policy.positive = 0...positive.upperBound
        policy.negative = 0...negative.upperBound
        return policy
    }

    /// Returns `records` without duplicates; all records of an RRset get the same TTL, within the
    /// bounds (RFC 2181 §5.2).
    func clamped(_ records: [Record]) -> [Record] {
        var records = records.consolidated
        for index in records.indices {
            records[index].ttl = clamp(records[index].ttl, to: positive)
        }
        return records
    }

    func lifetime(_ answers: [Record]) -> UInt32 {
        answers.map(\.ttl).min() ?? 0
    }

    /// Returns the seconds for which a negative answer with this SOA can be cached (RFC 2308 §5).
    func lifetime(_ soa: Record) -> UInt32 {
        guard case .soa(let data) = soa.data else { return negative.lowerBound }
        return clamp(min(soa.ttl, data.minimum), to: negative)
    }

    func clamp(_ seconds: UInt32, to range: ClosedRange<UInt32>) -> UInt32 {
        min(max(seconds, range.lowerBound), range.upperBound)
    }
}

extension Record {
    /// Creates an SOA for a negative answer that the daemon synthesizes.
    ///
    /// Without an SOA, clients do not cache a negative answer (RFC 2308 §5).
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
