// SPDX-License-Identifier: Apache-2.0
package import DNSWire
private import Locks
package import Net

/// Budget of a vendor: limits of requests and billed units per UTC day and month.
///
/// A request is charged with its maximum cost before it is sent; the excess is refunded after the
/// reply. Requests are paid from a reservation, which is added to the stored counts in advance. So
/// after a crash, the counts are too high by at most one reservation, never too low.
@ServiceLoop
package struct Budget {
    package struct Receipt: Sendable {
        fileprivate let period: UInt64
        fileprivate let amount: UsageAmount
        fileprivate let client: ClientNetwork?
    }

    package let rule: Rule?

    package var share: Share?

    private var store: any UsageStore

    private let vendor: String

    private let cheapest: UsageAmount

    private var day: Int64 = .min

    private var wallSeconds: Int64 = 0

    /// Number of runs of ``clear()``; charges before the latest run are no longer refunded.
    private var period: UInt64 = 0

    /// Amount that the stored counts already contain, but no request has used yet.
    private var reserved = UsageAmount.none

    /// Stored counts at the latest access, including the reservation; nil if unknown.
    private var record: UsageRecord?

    private var charged = UsageAmount.none
    private var chargedBefore = UsageAmount.none
    private var second: Int64 = .min

    private var checkedAt: Int64 = .min

    var spentByClient = ClientUsage()

    var spentThisMonth = ClientUsage()

    /// Clients of this process; the next change of the record stores them.
    var clients = StoredClients()

    /// Latest month, as returned by ``UsageRecord/month(of:)``.
    private var month: Int64 = .min

    package private(set) var exceeded: UInt64 = 0

    private var toldOf: Int64?

    private var toldOfShare: Int64?

    private var isReleased = false

    package private(set) var problem: String?

    var clientCount: Int { spentByClient.count }

    package nonisolated init(
        _ rule: Rule?,
        vendor: String,
        cheapest: UInt64,
        store: any UsageStore
    ) {
        self.rule = rule
        self.vendor = vendor
        self.store = store
        self.cheapest = UsageAmount(calls: 1, units: cheapest)
    }

    mutating func takeOver(from old: inout Budget) {
        store = old.store
        share = rule == old.rule ? old.share : nil
        day = old.day
        period = old.period
        reserved = old.reserved
        record = old.record
        problem = old.problem
        spentByClient = old.spentByClient
        spentThisMonth = old.spentThisMonth
        clients = old.clients
        month = old.month
        exceeded = old.exceeded
        toldOf = rule == old.rule ? old.toldOf : nil
        toldOfShare = rule == old.rule ? old.toldOfShare : nil
        old.reserved = .none
        old.isReleased = true
    }
}

// MARK: - Limits

extension Budget {
    /// Nil if the stored counts are unknown.
    package mutating func usage(wallSeconds: Int64) -> UsageRecord? {
        begin(wallSeconds)
        if checkedAt != wallSeconds {
            access { _ in false }
            checkedAt = wallSeconds
        }
        return ownRecord
    }

    package mutating func isExhausted(wallSeconds: Int64) -> Bool {
        guard rule != nil else { return false }
        begin(wallSeconds)
        if reserved.covers(cheapest) { return false }
        if isShort, checkedAt != wallSeconds {
            access { _ in false }
            checkedAt = wallSeconds
        }
        return isShort
    }

    /// True if requests beyond the budget are not sent.
    ///
    /// Unknown counts are treated as a spent budget. Otherwise, the whole budget would be available
    /// again after each crash.
    var isStrict: Bool { rule?.onExceeded == .fallback }

    package mutating func forbids(wallSeconds: Int64) -> Bool {
        isStrict && isExhausted(wallSeconds: wallSeconds)
    }

    package var unknownBecause: String? { record == nil ? problem : nil }

    var ownRecord: UsageRecord? {
        var own = record
        own?.remove(reserved)
        return own
    }

    var storedClients: StoredClients { record?.clients ?? StoredClients() }

    private var isShort: Bool {
        guard let record else { return true }
        return !Rule.left(of: limits, record).covers(cheapest.less(reserved))
    }

    package func secondsSpent(wallSeconds: Int64) -> Int64 {
        Rule.secondsSpent(limits, ownRecord, cheapest, wallSeconds: wallSeconds)
    }

    private var limits: Rule? {
        guard let part else { return rule }
        return rule?.limited(by: part.limits)
    }

    var part: Part? {
        guard let share, let record else { return nil }
        return share(record)
    }

    /// Amount to reserve in advance: a tenth of the charges in the previous second, at least
    /// ``ClientLimits/usageBlock``, at most 0.1 % of the limit.
    private var block: UsageAmount {
        guard !isReleased else { return .none }
        let least = ClientLimits.usageBlock
        let units = [rule?.unitsPerDay, rule?.unitsPerMonth].compactMap(\.self).min() ?? .max
        return UsageAmount(
            calls: min(max(least, chargedBefore.calls / 10), (rule?.callsPerDay ?? .max) / 1000),
            units: min(max(least, chargedBefore.units / 10), units / 1000)
        )
    }

    private mutating func note(_ cost: UsageAmount, _ wallSeconds: Int64) {
        if wallSeconds != second {
            chargedBefore = wallSeconds == second + 1 ? charged : .none
            charged = .none
            second = wallSeconds
        }
        charged = charged + cost
    }
}

// MARK: - Events

extension Budget {
    /// Charges one request of at most `units` units to `client` (nil: the daemon itself).
    ///
    /// - Returns: nil if the request must not be sent.
    package mutating func spend(
        units: UInt64,
        by client: ClientNetwork? = nil,
        wallSeconds: Int64
    ) -> Receipt? {
        let cost = UsageAmount(calls: 1, units: units)
        begin(wallSeconds)
        note(cost, wallSeconds)
        let missing = cost.less(reserved)
        if missing != .none, !reserve(for: cost) {
            if rule != nil { exceeded += 1 }
            guard !isStrict else { return nil }
            access {
                $0.add(missing)
                return true
            }
            guard record != nil else {
                return Receipt(period: period, amount: .none, client: nil)
            }
            reserved = reserved + missing
        }
        reserved = reserved.less(cost)
        if let client, rule != nil { spentByClient.add(cost, of: client) }
        if let client, rule?.unitsPerMonth != nil { spentThisMonth.add(cost, of: client) }
        if let share, let record { _ = share(record) }
        return Receipt(period: period, amount: cost, client: client)
    }

    /// Refunds the difference between the charge and the real cost of a request.
    ///
    /// - Parameter actual: upper bound of the real cost.
    package mutating func settle(
        _ receipt: Receipt,
        actual: UsageAmount,
        wallSeconds: Int64
    ) {
        begin(wallSeconds)
        let unused = receipt.amount.less(actual)
        guard unused != .none, receipt.period == period else { return }
        if let client = receipt.client {
            spentByClient.remove(unused, of: client)
            spentThisMonth.remove(unused, of: client)
        }
        reserved = reserved + unused
        let (block, surplus) = (block, isReleased ? .none : block + cheapest)
        if !surplus.covers(reserved) { returnReservation(downTo: block) }
    }

    package mutating func refused() {
        exceeded += 1
    }

    package mutating func release(wallSeconds: Int64) {
        begin(wallSeconds)
        isReleased = true
        returnReservation(downTo: .none)
    }

    /// Resets the stored counts, even if they are damaged.
    package mutating func reset(wallSeconds: Int64) throws(UsageStoreError) {
        begin(wallSeconds)
        try store.reset(vendor, today: day)
        clear()
        spentThisMonth = ClientUsage()
        toldOf = nil
        toldOfShare = nil
        access { _ in false }
    }

    /// Returns true if the log must report the exhausted budget, at most once a day.
    package mutating func tells(wallSeconds: Int64) -> Bool {
        guard toldOf != UsageRecord.day(wallSeconds), isExhausted(wallSeconds: wallSeconds),
            part?.left.isBelow(cheapest) ?? true
        else { return false }
        toldOf = day
        return true
    }

    /// Returns true if the log must report a client at its limit, at most once a day.
    package mutating func tellsOfShare(wallSeconds: Int64) -> Bool {
        let today = UsageRecord.day(wallSeconds)
        guard toldOfShare != today else { return false }
        toldOfShare = today
        return true
    }
}

// MARK: - Reservation

extension Budget {
    mutating func begin(_ wallSeconds: Int64) {
        self.wallSeconds = wallSeconds
        let today = UsageRecord.day(wallSeconds)
        guard today != day else { return }
        let unused = today > day ? reserved.units : 0
        let isNewMonth = unused > 0 && UsageRecord.month(of: day) != UsageRecord.month(of: today)
        day = today
        let thisMonth = UsageRecord.month(of: today)
        if thisMonth > month {
            month = thisMonth
            spentThisMonth = ClientUsage()
        }
        clear()
        access { record in
            guard unused > 0, !isNewMonth else { return false }
            record.unitsThisMonth -= min(record.unitsThisMonth, unused)
            return true
        }
    }

    private mutating func clear() {
        period += 1
        reserved = .none
        spentByClient = ClientUsage()
    }

    /// Returns false if the budget is too small.
    private mutating func reserve(for cost: UsageAmount) -> Bool {
        let (rule, least) = (limits, cost.less(reserved))
        let most = (cost + block).less(reserved)
        let granted = Lock<UsageAmount?>(nil)
        access { record in
            let left = Rule.left(of: rule, record)
            guard left.covers(least) else { return false }
            let amount = left.limiting(most)
            record.add(amount)
            granted.withLock { $0 = amount }
            return true
        }
        guard record != nil, let grant = granted.withLock({ $0 }) else { return false }
        reserved = reserved + grant
        return true
    }

    private mutating func returnReservation(downTo rest: UsageAmount) {
        let surplus = reserved.less(rest)
        guard surplus != .none else { return }
        access {
            $0.remove(surplus)
            return true
        }
        reserved = reserved.less(surplus)
    }

    private mutating func access(
        _ change: @escaping @Sendable (inout UsageRecord) -> Bool
    ) {
        record = store.update(vendor, today: day, durably: isStrict) { [clients, wallSeconds] in
            $0.clients.add(clients, wallSeconds: wallSeconds)
            return change(&$0)
        }
        problem = store.problem
    }
}
