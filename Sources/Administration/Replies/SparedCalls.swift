// SPDX-License-Identifier: Apache-2.0
internal import DNSCache
internal import Net
internal import Resolver

/// Calls that the daemon avoided before the query reached a `VendorClient`, counted by vendor.
struct SparedCalls {
    private(set) var cached: [String: UInt64] = [:]
    private(set) var merged: [String: UInt64] = [:]

    /// Calls avoided because a recent call for both families found no address for the name.
    let paired: [String: UInt64]

    let shared: [String: UInt64]

    let dropped: [String: UInt64]

    @ServiceLoop
    init(_ state: DaemonState) {
        let resolver = state.resolver
        paired = resolver.statistics.vendors.pairedByVendor
        shared = resolver.statistics.vendors.sharedByVendor
        dropped = resolver.statistics.vendors.droppedByVendor
        for (number, hits) in state.cache.hitsByServer.enumerated() where hits > 0 {
            guard let vendor = resolver.origins.vendor(UInt16(number)) else { continue }
            cached[vendor, default: 0] += hits
        }
        for (number, count) in resolver.statistics.mergedByOrigin {
            guard let vendor = resolver.origins.vendor(number) else { continue }
            merged[vendor, default: 0] += count
        }
    }
}
