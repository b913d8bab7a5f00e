// SPDX-License-Identifier: Apache-2.0
internal import DNSWire
internal import HTTPDNS

/// Interpretation of a vendor's reply to a question.
///
/// A reply without an address does not mean NODATA: the name may not be registered with the vendor.
struct VendorReplyPolicy {
    /// Nil if the resolver must query the fallback.
    private(set) var resolution: Resolution?

    var siblings: [(question: Question, resolution: Resolution)] = []

    private(set) var dropped: UInt64 = 0

    /// True if the vendor has no usable address of either family.
    private(set) var isNothing = false

    /// - Parameter age: seconds since another machine got the answer from the vendor; 0 for a reply
    ///   to this machine.
    init(
        _ answer: VendorAnswer,
        to question: Question,
        _ match: RouteTable.Match,
        _ policy: TTLPolicy,
        _ prefixes: [NAT64Prefix],
        _ provenance: Provenance,
        age: UInt32 = 0
    ) {
        if let denial = answer.denial {
            resolution = .vendorDenial(question, match, denial, policy, provenance)
            return
        }
        var answer = answer
        let widest: AddressReach = match.route.allowsPrivateAnswers ? .local : .global
        dropped = answer.drop { $0.reach(through: prefixes) > widest }
        guard !answer.isEmpty else {
            isNothing = true
            return
        }
        // NODATA for a family without addresses gets the TTL of the other family.
        let other = answer.v4.flatMap { $0.addresses.isEmpty ? nil : $0.ttl } ?? answer.v6?.ttl ?? 0
        func found(_ set: AddressSet?, _ type: RecordType) -> Resolution? {
            guard let set else { return nil }
            let family = Question(name: question.name, type: type)
            if !set.addresses.isEmpty {
                return .vendorAddresses(set, family, policy, provenance, age)
            }
            // Unusable addresses do not mean NODATA.
            guard set.dropped == 0 else { return nil }
            let seconds = policy.clamp(other, to: policy.negative)
            return .noData(family, zone: match.domain, seconds: seconds, provenance: provenance)
        }
        add(found(answer.v4, .a), .a, to: question)
        add(found(answer.v6, .aaaa), .aaaa, to: question)
    }

    private mutating func add(_ found: Resolution?, _ type: RecordType, to question: Question) {
        guard let found else { return }
        if type == question.type {
            resolution = found
        } else {
            siblings.append((Question(name: question.name, type: type), found))
        }
    }
}

extension VendorAnswer {
    fileprivate mutating func drop(_ isForbidden: (IPAddress) -> Bool) -> UInt64 {
        (v4?.drop(isForbidden) ?? 0) + (v6?.drop(isForbidden) ?? 0)
    }
}

extension AddressSet {
    fileprivate mutating func drop(_ isForbidden: (IPAddress) -> Bool) -> UInt64 {
        guard addresses.contains(where: isForbidden) else { return 0 }
        let count = addresses.count
        addresses.removeAll(where: isForbidden)
        dropped += count - addresses.count
        return UInt64(count - addresses.count)
    }
}

extension Resolution {
    fileprivate static func vendorAddresses(
        _ set: AddressSet,
        _ question: Question,
        _ policy: TTLPolicy,
        _ provenance: Provenance,
        _ age: UInt32
    ) -> Resolution? {
        let whole = policy.clamp(set.ttl, to: policy.positive)
        let ttl = age == 0 ? whole : max(1, whole) - min(age, max(1, whole) - 1)
        return try? Resolution(
            question,
            addresses: set.addresses,
            ttl: ttl,
            provenance: provenance
        )
    }

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
