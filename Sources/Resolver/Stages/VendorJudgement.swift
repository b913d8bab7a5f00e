// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS

/// What a vendor's answer is to a question: a pure function of both, the route and the settings.
///
/// An answer without any address says neither that the name does not exist nor that it does: it may
/// not be registered.  So then there is no resolution, and the fallback has the word.
struct VendorJudgement {
    /// What the client is told; nil if the vendor has nothing usable of the family that was asked.
    private(set) var resolution: Resolution?

    /// The same for the other family, if the answer is about it, too.
    var siblings: [(question: Question, resolution: Resolution)] = []

    /// Private addresses that no public name may have, and were left out.
    private(set) var dropped: UInt64 = 0

    /// Whether the vendor has nothing usable of either family.
    private(set) var isNothing = false

    /// Judges an answer.
    init(
        _ answer: VendorAnswer,
        to question: Question,
        _ match: RouteTable.Match,
        _ policy: TTLPolicy,
        _ provenance: Provenance
    ) {
        if let denial = answer.denial {
            resolution = .vendorDenial(question, match, denial, policy, provenance)
            return
        }
        var answer = answer
        if !match.route.allowsPrivateAnswers { dropped = answer.dropPrivate() }
        guard !answer.isEmpty else {
            isNothing = true
            return
        }
        // Only a family with addresses has a TTL; the other one's denial lives as long.
        let sets = [answer.v4, answer.v6].compactMap(\.self)
        let other = sets.first { !$0.addresses.isEmpty }?.ttl ?? 0
        for (type, set) in [(RecordType.a, answer.v4), (.aaaa, answer.v6)] {
            guard let set else { continue }
            let family = Question(name: question.name, type: type)
            let found: Resolution?
            if !set.addresses.isEmpty {
                found = .vendorAddresses(set, family, policy, provenance)
            } else if set.dropped == 0 {
                let seconds = policy.clamp(other, to: policy.negative)
                found = .noData(
                    family,
                    zone: match.domain,
                    seconds: seconds,
                    provenance: provenance
                )
            } else {
                // It has some, all of them unusable: that is no NODATA.
                found = nil
            }
            guard let found else { continue }
            if type == question.type {
                resolution = found
            } else {
                siblings.append((family, found))
            }
        }
    }
}

extension VendorAnswer {
    /// Drops private addresses, and tells how many those were.
    fileprivate mutating func dropPrivate() -> UInt64 {
        (v4?.dropPrivate() ?? 0) + (v6?.dropPrivate() ?? 0)
    }
}

extension AddressSet {
    /// Drops private addresses, and tells how many those were.
    fileprivate mutating func dropPrivate() -> UInt64 {
        let count = addresses.count
        addresses.removeAll { $0.reach == .local }
        dropped += count - addresses.count
        return UInt64(count - addresses.count)
    }
}

extension Resolution {
    /// A family's addresses, with the vendor's TTL within the settings' bounds.
    fileprivate static func vendorAddresses(
        _ set: AddressSet,
        _ question: Question,
        _ policy: TTLPolicy,
        _ provenance: Provenance
    ) -> Resolution? {
        let ttl = policy.clamp(set.ttl, to: policy.positive)
        return try? Resolution(
            question,
            addresses: set.addresses,
            ttl: ttl,
            provenance: provenance
        )
    }

    /// "No such name" or "no such address", as the vendor said it.
    fileprivate static func vendorDenial(
        _ question: Question,
        _ match: RouteTable.Match,
        _ denial: Denial,
        _ policy: TTLPolicy,
        _ provenance: Provenance
    ) -> Resolution {
        let seconds = policy.clamp(
            denial.ttl ?? policy.negative.lowerBound,
            to: policy.negative
        )
        var resolution = noData(
            question,
            zone: match.domain,
            seconds: seconds,
            provenance: provenance
        )
        if denial.kind == .nxDomain { resolution.rcode = .nxDomain }
        return resolution
    }
}
