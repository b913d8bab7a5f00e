// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Daily budget of vendor requests, per day in UTC by the wall clock.
///
/// Each request is charged before it is sent, and refunded if it was not sent. The count restarts
/// when the day changes, also backwards, and when the program starts.
///
/// If a vendor has several clients, the budget has a limit per client (``FairShare``). The first
/// client may spend three quarters of the budget, and the next client three quarters of the rest.
package struct Budget: Sendable, Hashable {
    /// Action on requests beyond the budget.
    package enum Excess: String, Sendable, Hashable, CaseIterable {
        /// Requests are not sent; the route's fallback answers.
        case fallback

        /// Requests are sent and counted.
        case warn
    }

    /// Configured budget.
    package struct Rule: Sendable, Hashable {
        /// Requests a day, at least 1.
        package var callsPerDay: UInt64

        package var onExceeded: Excess

        package init(callsPerDay: UInt64, onExceeded: Excess = .fallback) {
            self.callsPerDay = callsPerDay
            self.onExceeded = onExceeded
        }
    }

    /// Configured budget; nil for no limit.
    package let rule: Rule?

    /// Day of the count, in days since 1970.
    private var day: Int64 = .min

    /// Requests on that day.
    private var spent: UInt64 = 0

    /// Requests of each client on that day; has at most ``ClientLimits/countedClients`` clients.
    private var spentByClient: [ClientNetwork: UInt64] = [:]

    /// Requests beyond the budget or beyond the limit of a client, sent or not.
    package private(set) var exceeded: UInt64 = 0

    /// Day for which the exhausted budget was reported.
    private var toldOf: Int64?

    /// Day for which it was reported that a client has reached its limit.
    private var toldOfShare: Int64?

    /// Number of clients with a count.
    var clientCount: Int { spentByClient.count }

    package init(_ rule: Rule?) {
        self.rule = rule
    }

    /// Takes over the count of today from the same account's budget under earlier settings.
    mutating func takeOver(from old: Budget) {
        day = old.day
        spent = old.spent
        spentByClient = old.spentByClient
        exceeded = old.exceeded
        // A changed limit is reported again.
        toldOf = rule == old.rule ? old.toldOf : nil
        toldOfShare = rule == old.rule ? old.toldOfShare : nil
    }

    /// Returns the requests of the current day.
    package func spent(wallSeconds: Int64) -> UInt64 {
        Self.day(wallSeconds) == day ? spent : 0
    }

    /// Returns true if the budget has no request left.
    package func isExhausted(wallSeconds: Int64) -> Bool {
        guard let rule else { return false }
        return spent(wallSeconds: wallSeconds) >= rule.callsPerDay
    }

    /// Returns true if no request may be sent.
    package func forbids(wallSeconds: Int64) -> Bool {
        isExhausted(wallSeconds: wallSeconds) && rule?.onExceeded == .fallback
    }

    /// Returns true if `client` has reached its limit; other clients may still send requests.
    package func forbids(_ client: ClientNetwork, wallSeconds: Int64) -> Bool {
        guard let rule, rule.onExceeded == .fallback else { return false }
        let all = spent(wallSeconds: wallSeconds)
        let own = all == 0 ? 0 : spentByClient[client] ?? 0
        return !FairShare.threeQuarters.admits(
            used: Int(clamping: own),
            free: Int(clamping: rule.callsPerDay - min(all, rule.callsPerDay))
        )
    }

    /// Returns the seconds until the count restarts.
    package static func secondsLeft(wallSeconds: Int64) -> Int64 {
        (day(wallSeconds) + 1) * secondsADay - wallSeconds
    }

    /// Length of a UTC day in Unix time, which ignores leap seconds.
    private static let secondsADay: Int64 = 86_400

    private static func day(_ wallSeconds: Int64) -> Int64 {
        Int64((Double(wallSeconds) / Double(secondsADay)).rounded(.down))
    }
}

// MARK: - Events

extension Budget {
    /// Charges one request to `client`; nil is the daemon itself, which has no per-client limit.
    ///
    /// - Returns: false if the request must not be sent.
    package mutating func spend(by client: ClientNetwork? = nil, wallSeconds: Int64) -> Bool {
        let isTooMany = isExhausted(wallSeconds: wallSeconds)
        if isTooMany { exceeded += 1 }
        guard !isTooMany || rule?.onExceeded == .warn else { return false }
        let today = Self.day(wallSeconds)
        if today != day {
            day = today
            spent = 0
            spentByClient = [:]
        }
        spent += 1
        if let client, rule != nil { count(client) }
        return true
    }

    /// Counts a request of `client`; a full table removes the clients with few requests.
    private mutating func count(_ client: ClientNetwork) {
        if spentByClient.count >= ClientLimits.countedClients, spentByClient[client] == nil {
            let mean = spentByClient.values.reduce(0, +) / UInt64(spentByClient.count)
            spentByClient = spentByClient.filter { $0.value > mean }
        }
        spentByClient[client, default: 0] += 1
    }

    /// Returns true if the budget is exhausted and this was not reported yet today.
    package mutating func tells(wallSeconds: Int64) -> Bool {
        let today = Self.day(wallSeconds)
        guard isExhausted(wallSeconds: wallSeconds), toldOf != today else { return false }
        toldOf = today
        return true
    }

    /// Returns true if no report was made yet today that a client has reached its limit.
    ///
    /// The caller then makes this report.
    package mutating func tellsOfShare(wallSeconds: Int64) -> Bool {
        let today = Self.day(wallSeconds)
        guard toldOfShare != today else { return false }
        toldOfShare = today
        return true
    }

    /// Refunds a request of the day that was not sent, or that the vendor refused.
    package mutating func refund(to client: ClientNetwork? = nil) {
        spent -= min(spent, 1)
        guard let client, let own = spentByClient[client] else { return }
        spentByClient[client] = own > 1 ? own - 1 : nil
    }

    /// Counts a call that was not started because of the budget or of the limit per client.
    package mutating func refused() {
        exceeded += 1
    }
}
