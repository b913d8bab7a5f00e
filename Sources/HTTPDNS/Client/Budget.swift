// SPDX-License-Identifier: Apache-2.0
package import DNSWire

/// Daily budget of vendor requests; a day is in UTC by the wall clock.
///
/// The count restarts when the day changes, also backwards, and with the program.
package struct Budget: Sendable, Hashable {
    /// Action on requests above the budget.
    package enum Excess: String, Sendable, Hashable, CaseIterable {
        /// Requests are not sent; the fallback answers.
        case fallback

        /// Requests are sent.
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

    /// Nil for no limit.
    package let rule: Rule?

    /// Days since 1970.
    private var day: Int64 = .min

    private var spent: UInt64 = 0

    /// Requests of at most ``ClientLimits/countedClients`` clients.
    private var spentByClient: [ClientNetwork: UInt64] = [:]

    /// Requests above the budget or a client's limit.
    package private(set) var exceeded: UInt64 = 0

    /// Day of the report about the exhausted budget.
    private var toldOf: Int64?

    /// Day of the report about a client's limit.
    private var toldOfShare: Int64?

    var clientCount: Int { spentByClient.count }

    package init(_ rule: Rule?) {
        self.rule = rule
    }

    /// Takes over the state of the account's earlier client.
    mutating func takeOver(from old: Budget) {
        day = old.day
        spent = old.spent
        spentByClient = old.spentByClient
        exceeded = old.exceeded
        // A changed limit is reported again.
        toldOf = rule == old.rule ? old.toldOf : nil
        toldOfShare = rule == old.rule ? old.toldOfShare : nil
    }

    /// Returns the requests of this day.
    package func spent(wallSeconds: Int64) -> UInt64 {
        Self.day(wallSeconds) == day ? spent : 0
    }

    /// Returns true if no request is left.
    package func isExhausted(wallSeconds: Int64) -> Bool {
        guard let rule else { return false }
        return spent(wallSeconds: wallSeconds) >= rule.callsPerDay
    }

    /// Returns true if no request may be sent.
    package func forbids(wallSeconds: Int64) -> Bool {
        isExhausted(wallSeconds: wallSeconds) && rule?.onExceeded == .fallback
    }

    /// Returns true if `client` has reached its limit.
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

    /// Unix time ignores leap seconds.
    private static let secondsADay: Int64 = 86_400

    private static func day(_ wallSeconds: Int64) -> Int64 {
        Int64((Double(wallSeconds) / Double(secondsADay)).rounded(.down))
    }
}

// MARK: - Events

extension Budget {
    /// Charges a request of `client` (nil: the daemon itself); returns false if it must not be
    /// sent.
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

    /// Counts a request; a full table drops the clients with few requests.
    private mutating func count(_ client: ClientNetwork) {
        if spentByClient.count >= ClientLimits.countedClients, spentByClient[client] == nil {
            let mean = spentByClient.values.reduce(0, +) / UInt64(spentByClient.count)
            spentByClient = spentByClient.filter { $0.value > mean }
        }
        spentByClient[client, default: 0] += 1
    }

    /// Returns true once a day for an exhausted budget, which the caller then reports.
    package mutating func tells(wallSeconds: Int64) -> Bool {
        let today = Self.day(wallSeconds)
        guard isExhausted(wallSeconds: wallSeconds), toldOf != today else { return false }
        toldOf = today
        return true
    }

    /// Returns true once a day; the caller then reports a client at its limit.
    package mutating func tellsOfShare(wallSeconds: Int64) -> Bool {
        let today = Self.day(wallSeconds)
        guard toldOfShare != today else { return false }
        toldOfShare = today
        return true
    }

    /// Refunds a request that was not sent or was refused.
    package mutating func refund(to client: ClientNetwork? = nil) {
        spent -= min(spent, 1)
        guard let client, let own = spentByClient[client] else { return }
        spentByClient[client] = own > 1 ? own - 1 : nil
    }

    /// Counts a refused call.
    package mutating func refused() {
        exceeded += 1
    }
}
