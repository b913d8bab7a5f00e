// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import DNSWire
internal import Net

/// Replaces an upstream's NXDOMAIN by NODATA for names whose addresses a vendor gives.
///
/// NXDOMAIN is about all types of a name (RFC 8020 §2).  An upstream does not know what is registered
/// with a vendor; a stub resolver that believed its NXDOMAIN of TXT or HTTPS would drop the addresses
/// that the vendor gave.  NODATA claims less: it is right for a name that does not exist, too.
@ServiceLoop
struct DenialFilter {
    let cache: AnswerCache
    let clocks: Clocks

    /// Returns an upstream's answer to `query`, without an NXDOMAIN that may be wrong.
    ///
    /// - Parameters:
    ///   - match: the route of the name; without vendors the answer stays as it is.
    ///   - isVendorEmpty: whether a vendor has just said that it has no address of either family.
    ///   - siblings: answers to other types of the name that came with the vendor's reply.
    func filtered(
        _ resolution: Resolution,
        _ query: Query,
        _ match: RouteTable.Match,
        isVendorEmpty: Bool,
        siblings: [(question: Question, resolution: Resolution)] = []
    ) -> Resolution {
        let name = query.question.name
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
        // A query for addresses comes here after the vendors had their say.
        let isDenied =
            query.asksForAddress || isVendorEmpty
            || cached.contains { $0.rcode == .nxDomain && $0.remaining > 0 }
        guard hasAddresses || !isDenied else { return resolution }
        var noData = resolution
        noData.rcode = .noError
        // The proof, if there is one, is of NXDOMAIN.
        noData.isAuthentic = false
        return noData
    }
}
