// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Calls in flight per client; nil stands for the daemon itself.
///
/// An unanswered name occupies a call for seconds, so clients could otherwise occupy all calls. One
/// client can occupy half of them, the next client half of the others (``FairShare``).
package struct CallShares: Sendable {
    /// Maximum calls in flight.
    private let limit: Int

    /// Calls in flight of all clients, without health probes.
    private(set) var count = 0

    /// Calls in flight of each client; no entry is 0.
    private var counts: [ClientNetwork?: Int] = [:]

    /// Creates the shares of `calls` concurrent calls.
    init(of calls: Int) { limit = calls }

    var free: Int { limit - count }

    func count(of client: ClientNetwork?) -> Int { counts[client] ?? 0 }

    /// Returns true if the client may start one more call.
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
    /// Adds a call in flight.
    func insert(_ call: VendorCall) {
        if calls.insert(call).inserted, !call.isTrial { shares.begin(call.client) }
    }

    /// Removes a call in flight; returns false if it was removed before.
    func remove(_ call: VendorCall) -> Bool {
        guard calls.remove(call) != nil else { return false }
        if !call.isTrial { shares.end(call.client) }
        return true
    }
}
