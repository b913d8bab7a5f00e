// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Numbers of calls in flight by DNS client (nil: the daemon itself), limited by ``FairShare``.
package struct CallShares: Sendable {
    private let limit: Int

    /// Number of calls of all clients, without health probes.
    private(set) var count = 0

    private var counts: [ClientNetwork?: Int] = [:]

    init(of calls: Int) { limit = calls }

    var free: Int { limit - count }

    func count(of client: ClientNetwork?) -> Int { counts[client] ?? 0 }

    func admits(_ client: ClientNetwork?) -> Bool {
        FairShare.half.admits(used: count(of: client), free: free)
    }

    mutating func begin(_ client: ClientNetwork?) {
        count += 1
        counts[client, default: 0] += 1
    }

    mutating func end(_ client: ClientNetwork?) {
        count -= 1
        let calls = count(of: client) - 1
        counts[client] = calls > 0 ? calls : nil
    }
}

extension VendorClient {
    func insert(_ call: VendorCall) {
        if calls.insert(call).inserted, !call.isTrial { shares.begin(call.client) }
    }

    func remove(_ call: VendorCall) -> Bool {
        guard calls.remove(call) != nil else { return false }
        if !call.isTrial { shares.end(call.client) }
        return true
    }
}
