// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import Net
internal import Resolver

/// Calls that were not needed, by the vendor and by who spared them; what shares a call in a
/// vendor's client is counted there.
struct SparedCalls {
    /// Answers from the cache that a vendor would be asked for else.
    private(set) var cached: [String: UInt64] = [:]

    /// Queries that waited for another one, which asked the vendor.
    private(set) var merged: [String: UInt64] = [:]

    /// Queries for the other family of a name that a vendor had just had nothing for.
    let paired: [String: UInt64]

    /// Private addresses that the resolver dropped from a vendor's answers.
    let dropped: [String: UInt64]

    /// The counts up to now.
    @ServiceLoop
    init(_ assembly: Assembly) {
        let resolver = assembly.resolver
        paired = resolver.vendors.numbers.pairedByVendor
        dropped = resolver.vendors.numbers.droppedByVendor
        for (number, hits) in assembly.cache.hitsByServer.enumerated() where hits > 0 {
            guard let vendor = resolver.origins.vendor(UInt16(number)) else { continue }
            cached[vendor, default: 0] += hits
        }
        for (number, count) in resolver.merging.mergedByOrigin {
            guard let vendor = resolver.origins.vendor(number) else { continue }
            merged[vendor, default: 0] += count
        }
    }
}
