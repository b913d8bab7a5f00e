// SPDX-License-Identifier: Apache-2.0
internal import DNSWire

/// Calls in flight per client.
///
/// An unanswered name occupies a call for seconds, so one client could otherwise occupy all calls.
struct CallShares {
    /// Maximum calls in flight of one client: three quarters of `concurrent-calls`.
    private let share: Int

    private var counts: [ClientNetwork: Int] = [:]

    /// Clients that use their share.
    private(set) var full: Set<ClientNetwork> = []

    /// Creates the shares of `calls` concurrent calls.
    init(of calls: Int) { share = max(1, calls * 3 / 4) }

    mutating func begin(_ client: ClientNetwork) {
        let count = (counts[client] ?? 0) + 1
        counts[client] = count
        if count == share { full.insert(client) }
    }

    mutating func end(_ client: ClientNetwork) {
        let count = (counts[client] ?? 0) - 1
        counts[client] = count > 0 ? count : nil
        if count == share - 1 { full.remove(client) }
    }
}

extension VendorClient {
    /// Adds a call in flight.
    func insert(_ call: VendorCall) {
        if calls.insert(call).inserted, let client = call.client { shares.begin(client) }
    }

    /// Removes a call in flight; returns false if it was removed before.
    func remove(_ call: VendorCall) -> Bool {
        guard calls.remove(call) != nil else { return false }
        if let client = call.client { shares.end(client) }
        return true
    }
}
