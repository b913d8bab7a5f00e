// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Filter that replaces an upstream's NXDOMAIN with NODATA for names with a route to vendors.
///
/// NXDOMAIN applies to all types of a name (RFC 8020 §2): after an NXDOMAIN for TXT or HTTPS from
/// an upstream, a stub resolver would discard the vendor's addresses of the name.
@ServiceLoop
struct DenialFilter {
    let cache: AnswerCache
    let clocks: Clocks

    /// Maximum seconds for which an upstream's NXDOMAIN or NODATA is cached if no vendor answered.
    let unconfirmedLifetime: UInt32

    /// Returns an upstream's answer; NODATA replaces NXDOMAIN if vendors may know the name.
    ///
    /// If `hasVendorFailed` is true, NXDOMAIN and NODATA are kept, but cached only for
    /// ``unconfirmedLifetime``. Otherwise, if the cache or `siblings` has an address of the name,
    /// NXDOMAIN is replaced. Without such an address, NXDOMAIN is kept in three cases: the query is
    /// for A or AAAA, `isVendorEmpty` is true, or the cache has an NXDOMAIN for A or AAAA.
    ///
    /// - Parameter isVendorEmpty: true if a vendor has recently replied without an address of the
    ///   requested family.
    /// - Parameter hasVendorFailed: true if no vendor has answered.
    /// - Parameter siblings: the vendor's answers to other questions about the name.
    func filtered(
        _ resolution: Resolution,
        _ query: Query,
        _ match: RouteTable.Match,
        isVendorEmpty: Bool,
        hasVendorFailed: Bool = false,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) -> Resolution {
        let name = query.question.name
        if hasVendorFailed, resolution.isDenial {
            var denial = resolution
            denial.shorten(to: unconfirmedLifetime, query.question)
            return denial
        }
        guard resolution.rcode == .nxDomain, match.hasVendors, name.isHostname else {
            return resolution
        }
        let cached = [RecordType.a, .aaaa].filter { $0 != query.question.type }.compactMap { type in
            cache.lastResort(
                for: Question(name: name, type: type),
                variant: query.variant,
                now: clocks.now()
            )?.entry
        }
        let hasAddresses =
            cached.contains { !$0.isNegative }
            || siblings.contains { $0.resolution.sections.answerCount > 0 }
        let denied = cached.filter { $0.rcode == .nxDomain }.map(\.remaining).max() ?? 0
        // An A or AAAA query for a name with vendors reaches this line only after a vendor has
        // replied without an address.
        let isDenied = query.asksForAddress || isVendorEmpty || denied > 0
        guard hasAddresses || !isDenied else {
            guard !query.asksForAddress, !isVendorEmpty else { return resolution }
            // The answer stays NXDOMAIN only because of the NXDOMAIN in the cache, so `denial` must
            // not outlive that entry.
            var denial = resolution
            denial.shorten(to: UInt32(clamping: denied), query.question)
            return denial
        }
        var noData = resolution
        noData.rcode = .noError
        // The upstream has validated NXDOMAIN, and not this NODATA.
        noData.isAuthentic = false
        return noData
    }
}

extension Resolution {
    fileprivate var isDenial: Bool {
        rcode == .nxDomain || rcode == .noError && sections.answerCount == 0
    }

    mutating func shorten(to seconds: UInt32, _ question: Question) {
        lifetime = min(lifetime, seconds)
        sections = sections.mappingTTLs(of: question) { min($0, seconds) }
    }

    mutating func becomeSubstitute(for seconds: UInt32, _ question: Question) {
        isSubstitute = true
        shorten(to: seconds, question)
    }
}
